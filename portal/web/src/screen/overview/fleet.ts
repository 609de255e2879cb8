// Who has the fleet: its classes, and of each the tenants that rent of it, what is free, and what is not to be had by its state.
import type {Node} from "../../api/types";

/** rented: a tenant's; free; out: not to be had. */
export type Use = "rented" | "free" | "out";

export interface Share {
  /** A tenant, or a state. */
  name: string;
  use: Use;
  nodes: number;
  /** The filter of the list that shows these nodes. */
  words: string;
}

export interface ClassShare {
  name: string;
  nodes: number;
  words: string;
  shares: Share[];
}

/** Tenants by themselves in one class; the others are one cell. */
const TENANTS_MAX = 12;

/** A word of the filter, as docs/filter.md has it: blanks and commas stand in quotes. */
const word = (column: string, value: string) => `${column}=${/[\s,"]/.test(value) ? `"${value.replaceAll('"', "")}"` : value}`;

const useOf = (state: string): Use => (state === "free" ? "free" : state === "active" || state === "reserved" ? "rented" : "out");

function count(fleet: Node[], keyOf: (one: Node) => string): [key: string, nodes: Node[]][] {
  const by = new Map<string, Node[]>();
  for (const one of fleet) {
    const key = keyOf(one);
    by.get(key)?.push(one) ?? by.set(key, [one]);
  }
  return [...by].sort(([a, left], [b, right]) => right.length - left.length || a.localeCompare(b));
}

function sharesOf(nodes: Node[], words: string): Share[] {
  const rented = count(nodes.filter((one) => useOf(one.state) === "rented"), (one) => one.tenant ?? "no tenant");
  const own = rented.slice(0, rented.length > TENANTS_MAX ? TENANTS_MAX - 1 : TENANTS_MAX);
  const others = rented.slice(own.length);
  const states = `${words} state=active,reserved`;
  return [
    ...own.map(([name, of]): Share => ({name, use: "rented", nodes: of.length, words: `${states} tenant=${name === "no tenant" ? "" : name}`})),
    ...(others.length ? [{name: `${others.length} other tenants`, use: "rented" as const, nodes: others.flatMap(([, of]) => of).length, words: `${states} -tenant=${own.map(([name]) => name).join(",")}`}] : []),
    ...count(nodes.filter((one) => useOf(one.state) !== "rented"), (one) => one.state).map(([name, of]): Share => ({name, use: useOf(name), nodes: of.length, words: `${words} state=${name}`})),
  ];
}

export function classesOf(fleet: Node[]): ClassShare[] {
  return count(fleet, (one) => one.class).map(([name, nodes]) => {
    const words = word("class", name);
    return {name: name || "no class", nodes: nodes.length, words, shares: sharesOf(nodes, words)};
  });
}

export const nodesOf = (one: ClassShare, use: Use) => one.shares.reduce((sum, share) => sum + (share.use === use ? share.nodes : 0), 0);
