// Where everything is: arithmetic, no engine. A tier is a row; a pod is a block of columns; leaves stand by rack and name; nodes hang below their first leaf.
// World units; the picture scales them.
import type {Topology, TopologyLink, TopologyNode, TopologySwitch} from "../../api/types";
import {natural as order} from "../../part/table";

export interface Spot<T> {
  of: T;
  x: number;
  y: number;
}

export interface Pod {
  name: string;
  x: number;
  width: number;
  leaves: number;
  nodes: number;
}

export interface Cable {
  of: TopologyLink;
  a: Spot<TopologySwitch>;
  b: Spot<TopologySwitch>;
  /** The fuller direction, 0 to 100; -1: not known. */
  load: number;
  /** Cables between the same two switches stand side by side. */
  shift: number;
}

/** A node, below its first leaf, and its NICs at whatever leaf they are. */
export interface Seat {
  node: string;
  tenant: string | null;
  x: number;
  y: number;
  nics: {of: TopologyNode; leaf: Spot<TopologySwitch>}[];
}

export interface Layout {
  width: number;
  height: number;
  pods: Pod[];
  switches: Map<string, Spot<TopologySwitch>>;
  cables: Cable[];
  seats: Map<string, Seat>;
}

export const LEAF = 76;
export const BOX = {width: 60, height: 22};
export const SEAT = {width: 15, height: 12, row: 4};
const GAP = 48;
const TIERS = 170;
const HANG = 44;

/** What a link carries in its fuller direction. */
export function loadOf(link: TopologyLink): number {
  return Math.max(link.forward?.percent ?? -1, link.back?.percent ?? -1);
}

/** Switches that are joined below the top tier: each leaf's pod, by the name of its first leaf. */
function podsOf(topology: Topology): TopologySwitch[][] {
  const below = new Map(topology.switches.filter((one) => one.tier < 2).map((one) => [one.name, one]));
  const near = new Map<string, string[]>();
  for (const {a_switch, b_switch} of topology.links) {
    if (!below.has(a_switch) || !below.has(b_switch)) continue;
    (near.get(a_switch) ?? near.set(a_switch, []).get(a_switch)!).push(b_switch);
    (near.get(b_switch) ?? near.set(b_switch, []).get(b_switch)!).push(a_switch);
  }
  const seen = new Set<string>();
  const pods: TopologySwitch[][] = [];
  for (const start of [...below.keys()].sort(order)) {
    if (seen.has(start)) continue;
    const pod: TopologySwitch[] = [];
    const front = [start];
    seen.add(start);
    while (front.length) {
      const name = front.pop()!;
      pod.push(below.get(name)!);
      for (const next of near.get(name) ?? []) {
        if (seen.has(next)) continue;
        seen.add(next);
        front.push(next);
      }
    }
    pods.push(pod.sort((x, y) => order(x.rack ?? "", y.rack ?? "") || order(x.name, y.name)));
  }
  return pods.sort((x, y) => order(x.find((one) => one.tier === 0)?.name ?? x[0]!.name, y.find((one) => one.tier === 0)?.name ?? y[0]!.name));
}

function spread(row: TopologySwitch[], x: number, width: number, y: number, into: Map<string, Spot<TopologySwitch>>) {
  row.forEach((of, at) => into.set(of.name, {of, x: x + ((at + 0.5) * width) / row.length, y}));
}

export function layout(topology: Topology): Layout {
  const top = topology.switches.filter((one) => one.tier === 2).sort((x, y) => order(x.name, y.name));
  const switches = new Map<string, Spot<TopologySwitch>>();
  const first = top.length ? TIERS : 0;
  const pods: Pod[] = [];
  let x = 0;
  podsOf(topology).forEach((pod, at) => {
    const leaves = pod.filter((one) => one.tier === 0);
    const spines = pod.filter((one) => one.tier === 1);
    const width = Math.max(leaves.length, spines.length, 1) * LEAF;
    spread(spines, x, width, first, switches);
    spread(leaves, x, width, first + TIERS, switches);
    pods.push({name: `Pod ${at + 1}`, x, width, leaves: leaves.length, nodes: 0});
    x += width + GAP;
  });
  const width = Math.max(LEAF, x - GAP, top.length * LEAF);
  spread(top, 0, width, 0, switches);

  const seats = new Map<string, Seat>();
  const hung = new Map<string, number>();
  let lowest = first + TIERS + BOX.height;
  for (const of of topology.nodes) {
    const leaf = switches.get(of.switch);
    if (!leaf) continue;
    let seat = seats.get(of.node);
    if (!seat) {
      const at = hung.get(of.switch) ?? 0;
      hung.set(of.switch, at + 1);
      const row = Math.floor(at / SEAT.row);
      seat = {node: of.node, tenant: of.tenant, x: leaf.x + ((at % SEAT.row) - (SEAT.row - 1) / 2) * (SEAT.width + 2), y: leaf.y + HANG + row * (SEAT.height + 3), nics: []};
      seats.set(of.node, seat);
      lowest = Math.max(lowest, seat.y + SEAT.height);
      const pod = pods.find((one) => leaf.x >= one.x && leaf.x <= one.x + one.width);
      if (pod) pod.nodes++;
    }
    seat.nics.push({of, leaf});
  }
  const cables: Cable[] = [];
  const between = new Map<string, number>();
  for (const of of topology.links) {
    const a = switches.get(of.a_switch);
    const b = switches.get(of.b_switch);
    if (!a || !b) continue;
    const pair = [of.a_switch, of.b_switch].sort().join();
    const at = between.get(pair) ?? 0;
    between.set(pair, at + 1);
    cables.push({of, a, b, load: loadOf(of), shift: (at % 2 ? 1 : -1) * Math.ceil(at / 2) * 7});
  }
  return {width, height: lowest, pods, switches, cables, seats};
}
