// The screens: where each is, who sees it, how the keyboard gets there. A new screen is a row here, and a pattern in portal/server/page.c. Those that a login
// lands on come with the page; all others are loaded when somebody opens them.
import type {ComponentChild} from "preact";
import {h} from "preact";
import {lazy} from "../part/lazy";
import {Alerts} from "../screen/alerts/alerts";
import {Pdcis} from "../screen/pdcis/pdcis";
import {isSite, me} from "./session";

const CaptureScreen = lazy(() => import("../screen/network").then((module) => module.CaptureScreen));
const Captures = lazy(() => import("../screen/network").then((module) => module.Captures));
const CaseScreen = lazy(() => import("../screen/network").then((module) => module.CaseScreen));
const Cases = lazy(() => import("../screen/network").then((module) => module.Cases));
const Collector = lazy(() => import("../screen/network").then((module) => module.Collector));
const ConsoleScreen = lazy(() => import("../screen/console/console").then((module) => module.ConsoleScreen));
const Deployments = lazy(() => import("../screen/rent").then((module) => module.Deployments));
const Drill = lazy(() => import("../screen/network").then((module) => module.Drill));
const Images = lazy(() => import("../screen/rent").then((module) => module.Images));
const NodeScreen = lazy(() => import("../screen/rent").then((module) => module.NodeScreen));
const Nodes = lazy(() => import("../screen/rent").then((module) => module.Nodes));
const Audit = lazy(() => import("../screen/site").then((module) => module.Audit));
const Certificates = lazy(() => import("../screen/site").then((module) => module.Certificates));
const Jobs = lazy(() => import("../screen/site").then((module) => module.Jobs));
const Overview = lazy(() => import("../screen/site").then((module) => module.Overview));
const People = lazy(() => import("../screen/site").then((module) => module.People));
const Rotations = lazy(() => import("../screen/site").then((module) => module.Rotations));
const Settings = lazy(() => import("../screen/site").then((module) => module.Settings));
const Tenants = lazy(() => import("../screen/site").then((module) => module.Tenants));
const UsageScreen = lazy(() => import("../screen/site").then((module) => module.UsageScreen));
const Webhooks = lazy(() => import("../screen/site").then((module) => module.Webhooks));
const Addresses = lazy(() => import("../screen/network").then((module) => module.Addresses));
const Links = lazy(() => import("../screen/network").then((module) => module.Links));
const Switches = lazy(() => import("../screen/network").then((module) => module.Switches));
const SwitchScreen = lazy(() => import("../screen/network").then((module) => module.SwitchScreen));
const TopologyScreen = lazy(() => import("../screen/network").then((module) => module.TopologyScreen));
const Volumes = lazy(() => import("../screen/rent").then((module) => module.Volumes));
const PdciScreen = lazy(() => import("../screen/rent").then((module) => module.PdciScreen));
const AccountScreen = lazy(() => import("../screen/site").then((module) => module.AccountScreen));
const Wizard = lazy(() => import("../screen/rent").then((module) => module.Wizard));

export const GROUPS = ["Rent", "Work", "Network", "Traffic", "Site"] as const;
export type Group = (typeof GROUPS)[number];

export interface Screen {
  path: string;
  title: string;
  /** How a tenant calls it. */
  own?: string;
  /** Without one it stands above all groups. */
  group?: Group;
  /** Who sees it; without it everybody. managers: all but the members of a tenant. */
  only?: "site" | "tenant" | "managers";
  /** After g. */
  key: string;
  show: () => ComponentChild;
  /** One thing of the list: PATH/NAME. */
  one?: (name: string) => ComponentChild;
  /** A screen of one thing alone: PATH/NAME/WORD. */
  deeper?: Record<string, (name: string) => ComponentChild>;
}

export const SCREENS: Screen[] = [
  {path: "/overview", title: "Overview", only: "site", key: "h", show: () => h(Overview, {})},
  {path: "/pdcis", title: "PDCIs", own: "My PDCIs", group: "Rent", key: "p", show: () => h(Pdcis, {}), one: (name) => (name === "new" ? h(Wizard, {}) : h(PdciScreen, {name, key: name}))},
  {path: "/nodes", title: "Nodes", own: "My nodes", group: "Rent", key: "n", show: () => h(Nodes, {}), one: (name) => h(NodeScreen, {name, key: name}), deeper: {console: (name) => h(ConsoleScreen, {name, key: name})}},
  {path: "/images", title: "Images", group: "Rent", key: "i", show: () => h(Images, {})},
  {path: "/volumes", title: "Volumes", own: "My volumes", group: "Rent", key: "y", show: () => h(Volumes, {})},
  {path: "/tenants", title: "Tenants", group: "Rent", only: "site", key: "q", show: () => h(Tenants, {})},
  {path: "/usage", title: "Usage", own: "My usage", group: "Rent", key: "z", show: () => h(UsageScreen, {})},
  {path: "/deployments", title: "Provisioning", group: "Work", key: "d", show: () => h(Deployments, {})},
  {path: "/jobs", title: "Jobs", group: "Work", key: "j", show: () => h(Jobs, {})},
  {path: "/topology", title: "Topology", own: "My network", group: "Network", key: "b", show: () => h(TopologyScreen, {})},
  {path: "/switches", title: "Switches", group: "Network", only: "site", key: "f", show: () => h(Switches, {}), one: (name) => h(SwitchScreen, {name, key: name})},
  {path: "/links", title: "Links", group: "Network", only: "site", key: "l", show: () => h(Links, {})},
  {path: "/addresses", title: "Addresses", group: "Network", only: "site", key: "x", show: () => h(Addresses, {})},
  {path: "/alerts", title: "Alerts", group: "Traffic", key: "a", show: () => h(Alerts, {})},
  {path: "/drill", title: "Drill", own: "Traffic", group: "Traffic", key: "t", show: () => h(Drill, {})},
  {path: "/cases", title: "Cases", own: "Complaints", group: "Traffic", key: "k", show: () => h(Cases, {}), one: (name) => h(CaseScreen, {id: Number(name), key: name})},
  {path: "/captures", title: "Captures", group: "Traffic", key: "c", show: () => h(Captures, {}), one: (name) => h(CaptureScreen, {id: Number(name), key: name})},
  {path: "/collector", title: "Collector", group: "Traffic", only: "site", key: "o", show: () => h(Collector, {})},
  {path: "/people", title: "People", group: "Site", only: "site", key: "e", show: () => h(People, {})},
  {path: "/audit", title: "Audit", own: "Events", group: "Site", key: "u", show: () => h(Audit, {})},
  {path: "/certificates", title: "Certificates", group: "Site", key: "v", show: () => h(Certificates, {})},
  {path: "/rotations", title: "Rotations", group: "Site", only: "site", key: "r", show: () => h(Rotations, {})},
  {path: "/webhooks", title: "Webhooks", group: "Site", only: "managers", key: "w", show: () => h(Webhooks, {})},
  {path: "/settings", title: "Settings", group: "Site", only: "site", key: "s", show: () => h(Settings, {})},
  {path: "/account", title: "My account", group: "Site", key: "m", show: () => h(AccountScreen, {})},
];

/** The screens of who is logged in. */
export function myScreens(): Screen[] {
  return SCREENS.filter((one) => !one.only || (one.only === "managers" ? me.value?.role !== "tenant-member" : (one.only === "site") === isSite.value));
}

/** What is shown at a path; undefined: no screen is there. */
export function showAt(path: string): ComponentChild | undefined {
  for (const screen of myScreens()) {
    if (path === screen.path) return screen.show();
    const [name, word, more] = path.startsWith(`${screen.path}/`) ? path.slice(screen.path.length + 1).split("/").map(decodeURIComponent) : [];
    const show = word === undefined ? screen.one : screen.deeper?.[word];
    if (name && show && more === undefined) return show(name);
  }
  return undefined;
}
