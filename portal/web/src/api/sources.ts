// What the screens show, and which events change it.
import {readAll, read} from "./client";
import {sourceOf, type Source} from "./source";
import {live, type Value} from "./stream";
import type {Alert, Deployment, Node, Pdci, Silence} from "./types";

const SOON_MS = 250;
const PATCHED_MAX = 20;

/** Reads single nodes again, gathered for a moment; many at once are read as the list. */
function patchNodes() {
  const names = new Set<string>();
  let timer = 0;
  const flush = async (source: Source<Node[]>) => {
    const wanted = [...names];
    names.clear();
    const fresh = await Promise.all(wanted.map((node) => read("/api/v1/nodes/{node}", {node}).catch(() => undefined)));
    const by = new Map(fresh.filter((node) => node !== undefined).map((node) => [node.name, node]));
    const list = source.held.value.value ?? [];
    if (wanted.some((name) => !list.some((node) => node.name === name))) void source.reload();
    else source.put(list.map((node) => by.get(node.name) ?? node));
  };
  return (event: {subject_kind: string; subject: string}, source: Source<Node[]>) => {
    // Nobody looks: the list is read when somebody does.
    if (document.hidden || event.subject_kind !== "node" || names.size >= PATCHED_MAX || !source.held.value.value) return false;
    names.add(event.subject);
    clearTimeout(timer);
    timer = window.setTimeout(() => void flush(source), SOON_MS);
    return true;
  };
}

/** Rows of a list with the newest values of the kind put in. A value of none of them: there is a row more, where the list has `all` of that kind. */
function moveRows<T extends object>(kind: Value["kind"], nameOf: (row: T) => string, all = true) {
  return (items: Value[], rows: T[], source: Source<T[]>) => {
    const by = new Map(items.filter((item) => item.kind === kind).map((item) => [item.name, item.value]));
    if (by.size === 0) return true;
    let ended = false;
    const moved = rows.map((row) => {
      const value = by.get(nameOf(row));
      ended ||= by.delete(nameOf(row)) && value === null;
      return value ? {...row, ...value} : row;
    });
    source.put(moved);
    return !ended && (!all || [...by.values()].every((value) => value === null));
  };
}

/** While values come, what moves need not be asked for. */
const unlessLive = (often: number, seldom: number) => (live.value.on ? seldom : often);

export const nodes = () =>
  sourceOf<Node[]>("nodes", () => ({
    load: (seen) => readAll("/api/v1/nodes", {}, seen),
    touches: (event) => event.subject_kind === "node",
    patch: patchNodes(),
    move: moveRows("node", (row) => row.name),
    every: (value) => ((value?.length ?? 0) > 1000 ? 60000 : 15000),
  }));

/** Those under way, those that failed and wait for a person, and all that ended within an hour. */
export const deployments = () =>
  sourceOf<Deployment[]>("deployments", () => ({
    load: async () => {
      const [active, failed, ended] = await Promise.all([
        readAll("/api/v1/deployments", {active: true}),
        readAll("/api/v1/deployments", {state: "failed"}),
        readAll("/api/v1/deployments", {q: "ended_at<1h"}),
      ]);
      const by = new Map([...ended, ...failed, ...active].map((one) => [one.id, one]));
      return [...by.values()].sort((a, b) => b.id - a.id);
    },
    touches: (event) => event.subject_kind === "deployment" || event.kind.startsWith("deployment.") || event.kind.startsWith("node."),
    move: moveRows("deployment", (row) => String(row.id)),
    every: (value) => (value?.some((one) => one.ended_at === null && one.state !== "failed") ? unlessLive(2000, 30000) : 30000),
  }));

export const alerts = (state: "open" | "silenced" | "all") =>
  sourceOf<Alert[]>(`alerts ${state}`, () => ({
    load: () => readAll("/api/v1/alerts", {state}),
    touches: (event) => event.kind.startsWith("alert.") || event.kind.startsWith("silence."),
    move: (items) => !items.some((item) => item.kind === "alerts"),
    every: () => unlessLive(10000, 30000),
  }));

export const silences = () =>
  sourceOf<Silence[]>("silences", () => ({
    load: () => readAll("/api/v1/silences", {state: "open"}),
    touches: (event) => event.kind.startsWith("silence."),
    every: () => 30000,
  }));

export const pdcis = (active: boolean) =>
  sourceOf<Pdci[]>(`pdcis ${active}`, () => ({
    load: () => readAll("/api/v1/pdcis", active ? {active: true} : {}),
    touches: (event) => event.subject_kind === "pdci" || event.kind.startsWith("pdci."),
    move: moveRows("pdci", (row) => String(row.id)),
    every: (value) => (value?.some((one) => one.state === "building" || one.state === "releasing") ? unlessLive(3000, 15000) : 15000),
  }));

/** Nodes that a filter lets through, with their power. */
export const nodesOf = (q: string) =>
  sourceOf<Node[]>(`nodes ${q}`, () => ({
    load: () => readAll("/api/v1/nodes", {q}),
    touches: (event) => event.subject_kind === "node",
    move: moveRows("node", (row) => row.name, false),
    every: () => unlessLive(5000, 15000),
  }));

/** A PDCI: itself, and the deployments of its nodes. What ended is read. */
function movePdci(items: Value[], value: Pdci, source: Source<Pdci>) {
  const itself = items.find((item) => item.kind === "pdci" && item.name === String(value.id));
  if (itself?.value === null) return false;
  const by = new Map(items.filter((item) => item.kind === "deployment").map((item) => [item.name, item.value]));
  const own = (value.nodes ?? []).filter((one) => by.has(String(one.deployment?.id)));
  if (own.some((one) => by.get(String(one.deployment?.id)) === null)) return false;
  if (own.length === 0 && !itself) return true;
  source.put({...value, ...itself?.value, nodes: value.nodes?.map((one) => (own.includes(one) && one.deployment ? {...one, deployment: {...one.deployment, ...by.get(String(one.deployment.id))}} : one))});
  return true;
}

export const pdci = (name: string, tenant?: string) =>
  sourceOf<Pdci>(`pdci ${tenant ?? ""} ${name}`, () => ({
    load: () => read("/api/v1/pdcis/{pdci}", {pdci: name}, {tenant}),
    touches: (event, value) => event.subject_kind === "pdci" || (event.subject_kind === "node" && !!value?.nodes?.some((one) => one.node === event.subject)),
    move: movePdci,
    every: (value) => (value?.state === "ready" || value?.state === "released" ? 15000 : unlessLive(2000, 15000)),
  }));

/** One node: its own values, and those of its deployment. What is gone is read: the answer says why. */
function moveNode(name: string) {
  return (items: Value[], value: Node, source: Source<Node>) => {
    const own = items.filter((item) => (item.kind === "node" && item.name === name) || (item.kind === "deployment" && item.name === String(value.deployment?.id)));
    if (own.length === 0) return true;
    let moved = value;
    for (const item of own) {
      if (item.value === null) return false;
      if (item.kind === "node") moved = {...moved, ...item.value};
      else moved = {...moved, deployment: moved.deployment && {...moved.deployment, ...item.value}};
    }
    source.put(moved);
    return moved.version === value.version;
  };
}

export const node = (name: string) =>
  sourceOf(`node ${name}`, () => ({
    load: () => read("/api/v1/nodes/{node}", {node: name}),
    touches: (event) => event.subject === name,
    move: moveNode(name),
    every: (value) => (value?.deployment && value.deployment.percent !== null ? unlessLive(2000, 10000) : 10000),
  }));

export const ofNode = <T>(what: string, name: string, load: () => Promise<T>, every = 15000) =>
  sourceOf(`${what} ${name}`, () => ({load, touches: (event) => event.subject === name, every: () => every}));

export const nodeHealth = (name: string) => ofNode("health", name, () => read("/api/v1/nodes/{node}/health", {node: name}));
export const nodeInventory = (name: string) => ofNode("inventory", name, () => read("/api/v1/nodes/{node}/inventory", {node: name}), 60000);
export const nodeNetworks = (name: string) => ofNode("networks", name, () => read("/api/v1/nodes/{node}/networks", {node: name}));
export const nodePlaces = (name: string) => ofNode("places", name, () => readAll("/api/v1/locations", {node: name}));
