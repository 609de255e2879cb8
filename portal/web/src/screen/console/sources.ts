// What is known about a console: its stored log, and who has it open.
import {read} from "../../api/client";
import {sourceOf} from "../../api/source";
import type {Event} from "../../api/types";

/** Each reading of the log is told of in the node's story, so it is read when somebody comes and not again. */
export const consoleLog = (node: string) =>
  sourceOf(`console log ${node}`, () => ({load: () => read("/api/v1/nodes/{node}/console/log", {node}), every: () => 3600_000}));

export interface Reader {
  id: number;
  actor: string;
  since: string;
  typed?: string;
}

const KIND = "console.";

/** Who opened it and did not close it, the last one first. */
function readersOf(events: Event[]): Reader[] {
  const closed = new Set(events.filter((one) => one.kind === "console.closed").map((one) => one.detail["opened"]));
  return events
    .filter((one) => one.kind === "console.opened" && !closed.has(one.id))
    .map((one) => ({id: one.id, actor: one.actor, since: one.at, typed: events.find((other) => other.kind === "console.typed" && other.actor === one.actor && other.at > one.at)?.at}))
    .map(({typed, ...reader}) => (typed ? {...reader, typed} : reader));
}

export const consoleReaders = (node: string) =>
  sourceOf(`console readers ${node}`, () => ({
    load: async () => readersOf((await read("/api/v1/events", {}, {subject_kind: "node", subject: node, kind: `${KIND}*`, order: "newest", limit: 200})).items),
    touches: (event) => event.subject === node && event.kind.startsWith(KIND),
    every: () => 30000,
  }));
