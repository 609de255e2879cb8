// How a place of the drill splits, up to three levels down: the level itself, then the level of each row that is shown, all until the same second. Each column
// adds up to the whole: what is not shown by itself is in the column's "other".
import {read, Refusal} from "../../api/client";
import {sourceOf} from "../../api/source";
import type {Drill} from "../../api/types";
import {FOLLOW_MS, level as levelSource, LIMIT, STILL_MS} from "./sources";
import type {Sums} from "./rate";
import {nameOf} from "./rows";
import {named, partsOf, secondsOf, type Level, type Spot} from "./url";

/** Rows by themselves in the first column, and in the others. */
const SHOWN = [6, 8, 9];
/** How much is read of a row's level. */
const PARTS = 9;
const FOLLOWS = 5;

export interface Part {
  name: string;
  /** undefined: it has no parts, or it is "other". */
  path: string | undefined;
  /** Where it is a row. */
  above: string;
  /** Its place in the column to the left. */
  from: number;
  tenant: string | undefined;
  sums: Sums;
}

export interface Column {
  level: Level;
  /** The largest first, of the same parent side by side; the last is "other". */
  parts: Part[];
  /** What of each part to the left is in "other": by its place. */
  other: Map<number, Sums>;
}

export interface Split {
  name: string;
  from: string;
  to: string;
  total: Sums;
  columns: Column[];
}

const NOTHING: Sums = {bytes: 0, bytes_low: 0, bytes_high: 0, bits_per_second: 0};

/** Bounds that are added are no narrower than those of the sum. */
export function sumOf(list: Sums[]): Sums {
  return list.reduce((a, b) => ({
    bytes: a.bytes + b.bytes, bytes_low: a.bytes_low + b.bytes_low, bytes_high: a.bytes_high + b.bytes_high, bits_per_second: a.bits_per_second + b.bits_per_second,
  }), NOTHING);
}

/** A column from the levels of the parts to the left; a part without a level goes into "other", as what was there already. */
function columnOf(levels: (Drill | undefined)[], left: Part[], most: number): Column {
  const rows = levels.flatMap((one, from) => one?.rows.map((row) => ({row, from, of: one})) ?? []);
  const shown = new Set([...rows].sort((a, b) => b.row.bytes - a.row.bytes).slice(0, most));
  const other = new Map<number, Sums>();
  left.forEach((part, from) => {
    const one = levels[from];
    other.set(from, one ? sumOf([one.other, ...rows.filter((each) => each.from === from && !shown.has(each)).map((each) => each.row)]) : part.sums);
  });
  const parts = rows.filter((each) => shown.has(each)).map(({row, from, of}) => ({
    name: row.network ? `${nameOf(of, row)} ${row.network}` : nameOf(of, row), path: row.path ?? undefined, above: of.path, from,
    tenant: named(row.path ?? of.path, "tenant")[0], sums: row,
  }));
  const last = levels.find((one) => one);
  return {
    level: last?.level ?? "flow", other,
    parts: [...parts, {name: "other", path: undefined, above: "", from: -1, tenant: undefined, sums: sumOf([...other.values()])}],
  };
}

const DEEP: Record<Level, number> = {all: 3, link: 3, owner: 3, vlan: 2, pair: 1, flow: 0};

/** undefined: it has none, or what it is of has no name any more. */
async function levelOf(part: Part, spot: Spot, at: string): Promise<Drill | undefined> {
  if (!part.path) return undefined;
  return read("/api/v1/drill", {}, {path: part.path, at, window: spot.window, limit: PARTS}).catch((error: unknown) => {
    if (error instanceof Refusal && error.status === 404) return undefined;
    throw error;
  });
}

/** undefined: the collector's memory has moved on since `here` was read. */
async function splitOf(spot: Spot, here: Drill): Promise<Split | undefined> {
  const name = partsOf(here.path).pop()?.name ?? "all links";
  const whole: Part = {name, path: here.path, above: "", from: -1, tenant: undefined, sums: here.total};
  const columns: Column[] = [];
  let left = [whole];
  let levels: (Drill | undefined)[] = [here];
  for (let at = 0; at < DEEP[here.level] && left.length > 0; at++) {
    if (at > 0) {
      levels = await Promise.all(left.map((part) => levelOf(part, spot, here.to)));
      if (levels.some((one) => one && (one.from !== here.from || one.to !== here.to))) return undefined;
      if (!levels.some((one) => one?.rows.length)) break;
    }
    const column = columnOf(levels, left, SHOWN[at]!);
    columns.push(column);
    left = column.parts;
  }
  return {name, from: here.from, to: here.to, total: here.total, columns};
}

/** Asked less often than the level: each column is a question for each part to the left. A case is told of the level alone. */
export const split = (spot: Spot) =>
  sourceOf<Split>(`drill split ${spot.path} ${spot.at ?? ""} ${spot.window}`, () => ({
    load: async () => {
      const shown = levelSource(spot).held.peek().value;
      const whole = (shown && (await splitOf(spot, shown))) ?? (await splitOf(spot, await read("/api/v1/drill", {}, {path: spot.path, at: spot.at, window: spot.window, limit: LIMIT})));
      if (!whole) throw new Refusal(0, {title: "its parts are of other seconds", detail: "what the collector keeps in memory moved on in between", hint: "it is tried again in a moment"});
      return whole;
    },
    every: () => (spot.at ? STILL_MS : FOLLOW_MS * FOLLOWS * (secondsOf(spot.window) > 900 ? 6 : 1)),
  }));
