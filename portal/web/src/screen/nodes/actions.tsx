// What one may do to nodes, one or many: each a row.
import {write} from "../../api/client";
import {node as nodeSource, nodes as nodesSource} from "../../api/sources";
import type {Node, NodeActionCreate, NodeState, NodeStateRequest} from "../../api/types";
import {may} from "../../app/session";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";

interface PowerRow {
  action: NodeActionCreate["action"];
  title: string;
  /** After haasctl node. */
  word: string;
  says?: string;
  /** What runs on the node ends. */
  destructive?: boolean;
}

/** At one node: they change nothing of what runs there. */
export const HANDS: PowerRow[] = [
  {action: "power_status", title: "Read power", word: "power status", says: "The BMC is asked; the power stands above when it has answered."},
  {action: "identify", title: "Locate", word: "identify", says: "Its light blinks for 15 seconds."},
];

interface EventRow {
  event: NodeStateRequest["event"];
  title: string;
  /** States that it is for; portald decides. */
  from: NodeState[];
  says: string;
  reason: boolean;
}

export const POWER: PowerRow[] = [
  {action: "power_on", title: "Power on", word: "power on"},
  {action: "power_soft", title: "Shut down", word: "power soft", destructive: true},
  {action: "power_cycle", title: "Power cycle", word: "power cycle", destructive: true},
  {action: "power_off", title: "Power off", word: "power off", destructive: true},
];

export const EVENTS: EventRow[] = [
  {event: "accept", title: "Accept", from: ["discovered"], says: "It can be rented out from now on.", reason: false},
  {event: "hold", title: "Hold", from: ["free", "discovered"], says: "It is given to nobody until it is unheld.", reason: true},
  {event: "unhold", title: "Unhold", from: ["held"], says: "It is discovered again: accept it, or have it erased.", reason: false},
  {event: "repair", title: "Repaired", from: ["broken"], says: "It is discovered again: accept it, or have it erased.", reason: false},
];

interface PlanRow {
  plan: "inspect" | "release";
  title: string;
  from: NodeState[];
  says: string;
  destructive?: boolean;
}

/** Plans that an operator begins at a node which nobody rents. */
export const PLANS: PlanRow[] = [
  {plan: "inspect", title: "Inspect", from: ["discovered", "free"], says: "The agent starts on it and lists its hardware. Its disks stay as they are."},
  {plan: "release", title: "Erase", from: ["discovered"], says: "All data on its disks is erased, and the erasure is proven. Then it is free.", destructive: true},
];

/** All that a filter lets through, as many as the page shows: portald chooses them itself, and does nothing when they are not as many. */
export interface Chosen {
  where: string;
  expected: number;
}

const chosenBody = (names: string[], all?: Chosen) => (all ? {where: all.where, expected: all.expected} : {nodes: names});
const chosenWords = (names: string[], all?: Chosen) => (all ? `--where ${quote(all.where)} --expected ${all.expected}` : names.map(quote).join(" "));

const again = (names: string[]) => {
  void nodesSource().reload();
  if (names.length === 1 && names[0]) void nodeSource(names[0]).reload();
};

export function power(row: PowerRow, nodes: {name: string}[], all?: Chosen): Ask {
  const names = nodes.map((one) => one.name);
  return {
    title: row.title, noun: "node", names, button: row.title, destructive: row.destructive ?? false, reason: "kept",
    children: <p>{row.says ?? `${row.destructive ? "What runs there ends. " : ""}The BMC is asked, and the power is read back.`}</p>,
    line: () => `haasctl node ${row.word} ${chosenWords(names, all)}`,
    act: async (why) => {
      const answer = await write("POST /api/v1/nodes/actions", {body: {...chosenBody(names, all), action: row.action}, why});
      again(names);
      return answer.refused;
    },
  };
}

export function fire(row: EventRow, nodes: Node[], all?: Chosen): Ask {
  const names = nodes.map((one) => one.name);
  return {
    title: row.title, noun: "node", names, button: row.title, ...(row.reason ? {reason: "required" as const} : {}),
    children: <p>{row.says}</p>,
    line: (why) => `haasctl node ${row.event} ${chosenWords(names, all)}${row.reason ? ` --reason ${quote(why || "...")}` : ""}`,
    act: async (why) => {
      const answer = await write("POST /api/v1/nodes/state", {body: {...chosenBody(names, all), event: row.event, ...(why ? {reason: why} : {})}});
      again(names);
      return answer.nodes.filter((one) => one.refused !== null).map((one) => ({node: one.node, message: one.refused ?? ""}));
    },
  };
}

export function begin(row: PlanRow, nodes: Node[], all?: Chosen): Ask {
  const names = nodes.map((one) => one.name);
  return {
    title: row.title, noun: "node", names, button: row.title, destructive: row.destructive ?? false, reason: "kept",
    children: <p>{row.says}</p>,
    line: () => `haasctl deployment create --plan ${row.plan} ${chosenWords(names, all)}`,
    act: async (why) => {
      await write("POST /api/v1/deployments", {body: {...chosenBody(names, all), plan: row.plan}, why});
      again(names);
    },
  };
}

/** The buttons for these nodes: those of a state only where all are in it. */
export function NodeActions({nodes, all, ask, more = []}: {nodes: Node[]; all?: Chosen | undefined; ask: (ask: Ask) => void; more?: PowerRow[]}) {
  if (nodes.length === 0) return null;
  const calm = [...POWER.filter((row) => !row.destructive), ...more];
  const hard = POWER.filter((row) => row.destructive);
  const plans = may("node_state") ? PLANS.filter((row) => nodes.every((one) => row.from.includes(one.state))) : [];
  const planned = (row: PlanRow) => <button key={row.plan} type="button" class={`button ${row.destructive ? "danger" : ""}`} onClick={() => ask(begin(row, nodes, all))}>{row.title}{row.destructive && "…"}</button>;
  return (
    <div class="actions">
      {may("power") && calm.map((row) => <button key={row.action} type="button" class="button" onClick={() => ask(power(row, nodes, all))}>{row.title}</button>)}
      {may("node_state") && EVENTS.filter((row) => nodes.every((one) => row.from.includes(one.state))).map((row) => (
        <button key={row.event} type="button" class="button" onClick={() => ask(fire(row, nodes, all))}>{row.title}</button>
      ))}
      {plans.map(planned)}
      {may("power") && hard.map((row) => <button key={row.action} type="button" class="button danger" onClick={() => ask(power(row, nodes, all))}>{row.title}…</button>)}
    </div>
  );
}
