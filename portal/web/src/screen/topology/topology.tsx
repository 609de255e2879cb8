// The fabric: a picture of tiers with the load of each link, one tenant's tree drawn over it, and tables that say the same.
import {useMemo} from "preact/hooks";
import {useSource} from "../../api/source";
import type {Topology, TopologyLink, TopologyNode, TopologySwitch} from "../../api/types";
import {query, setWords, withWords} from "../../app/route";
import {isSite} from "../../app/session";
import {Command} from "../../part/command";
import {Mark} from "../../part/mark";
import {Empty, Head, Numbers, Shown} from "../../part/screen";
import {Table, useShownRows, type Column} from "../../part/table";
import {bits, clock} from "../../part/time";
import {ChosenPanel} from "./chosen";
import {HUES, type Chosen, type Overlay} from "./draw";
import {layout, loadOf} from "./layout";
import {endsOf, overlayOf, usePath} from "./path";
import {Networks} from "./networks";
import {Picture} from "./picture";
import {topology as topologySource} from "./sources";
import {cableOf, percent} from "./words";

const FULL = 70;

function Bar({load}: {load: number}) {
  return <span class={`share ${load >= 90 ? "fail" : load >= FULL ? "wait" : ""}`}><i style={{width: `${Math.max(0, Math.min(100, load))}%`}} /></span>;
}

const LINKS: Column<TopologyLink>[] = [
  {name: "link", title: "Link", value: cableOf, width: "minmax(220px, 2fr)", mono: true, narrow: "title"},
  {name: "load", title: "Fuller way", value: loadOf, width: "minmax(120px, 1fr)", cell: (row) => <><Bar load={loadOf(row)} /><span class="tight">{loadOf(row) < 0 ? "not told" : `${loadOf(row).toFixed(1)} %`}</span></>, narrow: "state"},
  {name: "forward", title: "From the first", value: (row) => row.forward?.bits_per_second ?? null, cell: (row) => bits(row.forward?.bits_per_second), width: "minmax(104px, 0.8fr)", number: true, wide: true},
  {name: "back", title: "From the second", value: (row) => row.back?.bits_per_second ?? null, cell: (row) => bits(row.back?.bits_per_second), width: "minmax(112px, 0.8fr)", number: true, wide: true},
  {name: "capacity", title: "Capacity", value: (row) => row.speed_bps, cell: (row) => bits(row.speed_bps), width: "minmax(96px, 0.7fr)", number: true},
  {name: "state", title: "State", value: (row) => (row.up ? row.state : "no link"), cell: (row) => <Mark shape={!row.up ? "fail" : row.state === "confirmed" ? "ok" : "wait"}>{row.up ? row.state : "no link"}</Mark>, width: "minmax(104px, 0.8fr)", narrow: "sub"},
];

const SWITCHES: Column<TopologySwitch>[] = [
  {name: "switch", title: "Switch", value: (row) => row.name, width: "minmax(120px, 1.4fr)", mono: true, narrow: "title"},
  {name: "state", title: "State", value: (row) => row.state, cell: (row) => <Mark shape={row.state === "reachable" ? "ok" : row.state === "silent" ? "wait" : "idle"}>{row.state}</Mark>, width: "minmax(110px, 1fr)", narrow: "state"},
  {name: "tier", title: "Tier", value: (row) => row.tier, width: "64px", number: true, narrow: "sub"},
  {name: "role", title: "Role", value: (row) => row.role, width: "minmax(80px, 0.8fr)"},
  {name: "rack", title: "Rack", value: (row) => row.rack, width: "minmax(80px, 0.8fr)", narrow: "sub"},
  {name: "nodes", title: "Nodes", value: (row) => row.nodes, width: "80px", number: true},
];

const NODES: Column<TopologyNode>[] = [
  {name: "node", title: "Node", value: (row) => row.node, width: "minmax(120px, 1.2fr)", mono: true, narrow: "title"},
  {name: "nic", title: "NIC", value: (row) => row.nic, width: "minmax(70px, 0.6fr)", mono: true, narrow: "sub"},
  {name: "port", title: "Port", value: (row) => `${row.switch}:${row.port}`, cell: (row) => <Mark shape={!row.up ? "fail" : row.found ? "ok" : "idle"}><span class="mono">{row.switch}:{row.port}</span></Mark>, width: "minmax(150px, 1.2fr)", narrow: "sub"},
  {name: "tenant", title: "Tenant", value: (row) => row.tenant, width: "minmax(90px, 0.8fr)", narrow: "state"},
  {name: "sends", title: "Sends", value: (row) => row.forward_bps, cell: (row) => bits(row.forward_bps), width: "minmax(96px, 0.8fr)", number: true, wide: true},
  {name: "gets", title: "Gets", value: (row) => row.back_bps, cell: (row) => bits(row.back_bps), width: "minmax(96px, 0.8fr)", number: true, wide: true},
];

function Legend({overlay}: {overlay: Overlay | undefined}) {
  return (
    <div class="legend topology-legend">
      <span><i class="ramp" />load 0, 50, 100 %</span>
      <span><i class="thick one" />1 Gbit/s <i class="thick four" />100 Gbit/s</span>
      <span><i class="dash" />no link</span>
      {overlay && <span><i class={`swatch ${overlay.hue}`} />{overlay.nodes ? [...overlay.nodes].join(" to ") : `carries ${overlay.tenant} at both ends`}</span>}
    </div>
  );
}

function Tenants({topology, now}: {topology: Topology; now: string}) {
  const names = topology.trees.map((tree) => tree.tenant);
  if (!isSite.value || names.length === 0) return null;
  if (names.length > 6) {
    return (
      <label class="inline">
        <span class="quiet small">Tree of</span>
        <select value={now} onChange={(event) => setWords({tenant: event.currentTarget.value})}>
          <option value="">nobody, the load</option>
          {names.map((name) => <option key={name} value={name}>{name}</option>)}
        </select>
      </label>
    );
  }
  return (
    <nav class="segments" aria-label="Whose tree">
      <a href={withWords({tenant: undefined})} aria-current={now === "" ? "true" : undefined}>Load</a>
      {names.map((name, at) => <a key={name} href={withWords({tenant: name})} aria-current={now === name ? "true" : undefined}><i class={`swatch ${HUES[at]}`} />{name}</a>)}
    </nav>
  );
}

function chosenOf(at: string): Chosen {
  const colon = at.indexOf(":");
  const [kind, name] = [at.slice(0, colon), at.slice(colon + 1)];
  return kind === "link" ? {link: Number(name)} : kind === "switch" ? {switch: name} : kind === "node" ? {node: name} : {};
}

function wordOf({link, switch: name, node}: Chosen): Record<string, string | undefined> {
  if (link !== undefined) return {at: `link:${link}`, show: undefined};
  if (name !== undefined) return {at: `switch:${name}`, show: "switches"};
  return node !== undefined ? {at: `node:${node}`, show: "nodes"} : {at: undefined};
}

const SHOWS = [["links", "Links"], ["switches", "Switches"], ["nodes", "Nodes"], ["networks", "Networks"]] as const;

function Lists({topology, overlay, beside}: {topology: Topology; overlay: Overlay | undefined; beside: boolean}) {
  const show = query.value.get("show") ?? "links";
  const links = useMemo(() => topology.links.filter((one) => !overlay || overlay.links.has(one.id)).sort((a, b) => loadOf(b) - loadOf(a)), [topology, overlay]);
  const nodes = useMemo(() => topology.nodes.filter((one) => !overlay || one.tenant === overlay.tenant), [topology, overlay]);
  const linkRows = useShownRows(links, LINKS);
  const switchRows = useShownRows(topology.switches, SWITCHES);
  const nodeRows = useShownRows(nodes, NODES);
  const none = <Empty title="Nothing has these words"><a href={withWords({q: undefined})}>Show all</a></Empty>;
  return (
    <div class="stack">
      <nav class="segments" aria-label="Which table">
        {SHOWS.map(([word, title]) => <a key={word} href={withWords({show: word === "links" ? undefined : word, sort: undefined})} aria-current={show === word ? "true" : undefined}>{title}</a>)}
      </nav>
      {show === "networks" ? <Networks beside={beside} /> : show === "switches" ? <Table label="Switches" beside={beside} rows={switchRows} columns={SWITCHES} shown={SWITCHES} keyOf={(row) => `switch:${row.name}`} none={none} />
        : show === "nodes" ? <Table label="Nodes" beside={beside} rows={nodeRows} columns={NODES} shown={NODES} keyOf={(row) => `node:${row.node}`} none={none} />
          : <Table label="Links" beside={beside} rows={linkRows} columns={LINKS} shown={LINKS} keyOf={(row) => `link:${row.id}`} none={none} />}
    </div>
  );
}

/** What the picture says, in a sentence. */
function told(topology: Topology, fullest: TopologyLink | undefined): string {
  return `Picture of the fabric: ${topology.switches.length} switches, ${topology.links.length} links, ${fullest ? `the fullest ${cableOf(fullest)} with ${loadOf(fullest).toFixed(1)} %` : "no load told"}.`;
}

function Whole({topology}: {topology: Topology}) {
  const tenant = query.value.get("tenant") ?? "";
  const at = query.value.get("at") ?? "";
  const made = useMemo(() => layout(topology), [topology]);
  const overlay = useMemo((): Overlay | undefined => {
    const index = topology.trees.findIndex((tree) => tree.tenant === tenant);
    return index < 0 ? undefined : {links: new Set(topology.trees[index]!.links), tenant, hue: HUES[index % HUES.length]!};
  }, [topology, tenant]);
  const chosen = useMemo(() => chosenOf(at), [at]);
  const path = usePath(endsOf(at, topology));
  const drawn = useMemo(() => {
    const index = topology.trees.findIndex((tree) => tree.tenant === path?.tenant);
    return path ? overlayOf(path, topology, HUES[Math.max(0, index) % HUES.length]!) : overlay;
  }, [path, overlay, topology]);
  const fullest = useMemo(() => topology.links.reduce<TopologyLink | undefined>((most, one) => (loadOf(one) > (most ? loadOf(most) : -1) ? one : most), undefined), [topology]);
  const mine = overlay ? topology.links.filter((one) => overlay.links.has(one.id)) : topology.links;
  const silent = topology.switches.filter((one) => one.state === "silent").length;
  const down = mine.filter((one) => !one.up).length;
  if (topology.switches.length === 0) {
    return isSite.value
      ? <Empty title="No switch is managed yet"><p>A fabric and its switches are added with <span class="mono">haasctl fabric create</span> and <span class="mono">haasctl switch add</span>.</p></Empty>
      : <Empty title="No network of yours is on a switch yet"><p>It is drawn here when a PDCI has its nodes.</p></Empty>;
  }
  return (
    <>
      <Numbers
        rows={[
          {value: fullest ? `${loadOf(fullest).toFixed(1)} %` : "–", label: fullest ? `fullest, ${fullest.a_switch} – ${fullest.b_switch}` : "no load told", tone: fullest && loadOf(fullest) >= 90 ? "fail" : fullest && loadOf(fullest) >= FULL ? "wait" : undefined, ...(fullest ? {href: withWords({at: `link:${fullest.id}`, show: undefined})} : {})},
          {value: mine.length, label: overlay ? `links carry ${tenant}` : "links"},
          {value: down, label: "of them down", tone: "fail"},
          {value: topology.switches.length, label: "switches"},
          {value: silent, label: "silent", tone: "wait"},
        ]}
      />
      <div class="bar"><Tenants topology={topology} now={overlay ? tenant : ""} /><Legend overlay={drawn} /></div>
      <div class={`body ${at ? "split" : ""}`}>
        <div class="stack">
          <Picture layout={made} overlay={drawn} chosen={chosen} choose={(next) => setWords(wordOf(next))} label={told(topology, fullest)} />
          <Lists topology={topology} overlay={overlay} beside={at !== ""} />
        </div>
        {at && <ChosenPanel key={at} at={at} topology={topology} />}
      </div>
      <p class="quiet small">Loads are of the last minute that was told, at {clock(topology.at)}. {fullest && `Fuller way of the fullest: ${percent(loadOf(fullest) === fullest.forward?.percent ? fullest.forward : fullest.back)}.`}</p>
      <Command line={`haasctl switch topology${overlay ? ` --tenant ${tenant}` : ""}`} />
    </>
  );
}

export function TopologyScreen() {
  const source = topologySource();
  const held = useSource(source);
  return (
    <div class={`screen ${held.refusal && held.value ? "stale" : ""}`}>
      <Head title={isSite.value ? "Topology" : "My network"} about={isSite.value ? "switches, links and what they carry" : "links that carry your networks, and your traffic on them"} held={held} filter="leaf1" />
      <Shown held={held} what="the fabric" again={() => void source.reload()}>{(value) => <Whole topology={value} />}</Shown>
    </div>
  );
}
