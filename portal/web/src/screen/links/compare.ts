// Which planned cable was found, and what was found that nobody planned: one row a cable.
import type {Cabling, Place} from "./sources";

export type Finding = "as planned" | "not found" | "elsewhere" | "not planned" | "conflict";

export interface Cable {
  key: string;
  /** SWITCH:PORT, and what is planned and found behind it. */
  port: string;
  planned: string | null;
  found: string | null;
  finding: Finding;
  /** Where the planned end was found instead. */
  instead: string | null;
  certainty: number | null;
  since: string | undefined;
}

const nicOf = (place: Place) => (place.node ? `${place.node}${place.nic ? `:${place.nic}` : ""}` : place.mac);

export function compare({wires, links, places}: Cabling): Cable[] {
  const ends = new Map<string, {other: string; state: string; certainty: number; since: string | undefined}>();
  for (const link of links) {
    if (link.state === "gone") continue;
    const [a, b] = [`${link.a_switch}:${link.a_port}`, `${link.b_switch}:${link.b_port}`];
    ends.set(a, {other: b, state: link.state, certainty: link.certainty, since: link.since});
    ends.set(b, {other: a, state: link.state, certainty: link.certainty, since: link.since});
  }
  const at = new Map<string, Place[]>();
  const where = new Map<string, Place>();
  for (const place of places) {
    const port = `${place.switch}:${place.port}`;
    (at.get(port) ?? at.set(port, []).get(port)!).push(place);
    if (place.node && place.nic) where.set(`${place.node}:${place.nic}`, place);
  }
  const cables: Cable[] = [];
  const told = new Set<string>();
  for (const wire of wires) {
    const port = `${wire.switch}:${wire.port}`;
    const planned = wire.node ? `${wire.node}${wire.nic ? `:${wire.nic}` : ""}` : `${wire.peer_switch}:${wire.peer_port}`;
    const link = ends.get(port);
    const here = at.get(port) ?? [];
    const mine = wire.node ? here.find((one) => one.node === wire.node && (!wire.nic || one.nic === wire.nic)) : undefined;
    const far = wire.node ? where.get(planned) : undefined;
    const found = link ? link.other : mine ? nicOf(mine) : here[0] ? nicOf(here[0]) : null;
    const elsewhere = far && `${far.switch}:${far.port}` !== port ? `${far.switch}:${far.port}` : null;
    const finding: Finding = link?.state === "conflict" ? "conflict" : found === planned || mine ? "as planned" : found || elsewhere ? "elsewhere" : "not found";
    told.add(port);
    // A cable between two switches is one row, from the end that was planned.
    if (link && !wire.node) told.add(link.other);
    cables.push({key: port, port, planned, found, finding, instead: elsewhere, certainty: link?.certainty ?? mine?.certainty ?? null, since: link?.since ?? mine?.since});
  }
  for (const [port, link] of ends) {
    if (told.has(port) || told.has(link.other)) continue;
    told.add(port);
    cables.push({key: port, port, planned: null, found: link.other, finding: link.state === "conflict" ? "conflict" : "not planned", instead: null, certainty: link.certainty, since: link.since});
  }
  for (const [port, [place]] of at) {
    if (told.has(port) || !place) continue;
    cables.push({key: port, port, planned: null, found: nicOf(place), finding: "not planned", instead: null, certainty: place.certainty, since: place.since});
  }
  return cables;
}
