// Rows of an OS sheet as one edits them: texts in cells. A list stands in one cell, with blanks between, keys a line each.
import type {ProblemItem, Sheet, SheetRow} from "../../api/types";

export interface PlaceDraft {
  hostname: string;
  addresses: string;
  packages: string;
  disk: string;
  keys: string;
  user_data: string;
}

export type Cell = keyof PlaceDraft;

export const CELLS: {cell: Cell; member: keyof SheetRow; title: string; hint: string; long?: boolean}[] = [
  {cell: "hostname", member: "hostname", title: "Host name", hint: "the node's"},
  {cell: "addresses", member: "addresses", title: "Addresses", hint: "by place"},
  {cell: "packages", member: "packages", title: "Packages", hint: "the PDCI's"},
  {cell: "disk", member: "disk", title: "Disk", hint: "smallest that fits"},
  {cell: "keys", member: "ssh_keys", title: "SSH keys", hint: "the PDCI's", long: true},
  {cell: "user_data", member: "user_data", title: "User data", hint: "the PDCI's", long: true},
];

export const none = (): PlaceDraft => ({hostname: "", addresses: "", packages: "", disk: "", keys: "", user_data: ""});

export function draftOf(row: Sheet["rows"][number]): PlaceDraft {
  return {
    hostname: row.hostname ?? "", addresses: (row.addresses ?? []).join(" "), packages: (row.packages ?? []).join(" "), disk: row.disk ?? "",
    keys: (row.ssh_keys ?? []).join("\n"), user_data: row.user_data ?? "",
  };
}

/** All cells by place and member, as what differs is told: "2 hostname". */
export const membersOf = (places: PlaceDraft[]): Record<string, string> =>
  Object.fromEntries(places.flatMap((one, at) => CELLS.map(({cell, member}) => [`${at + 1} ${member}`, one[cell].trim()])));

/** What is now, and mine where I changed it. */
export const mergedOf = (before: PlaceDraft[], now: PlaceDraft[], mine: PlaceDraft[]): PlaceDraft[] =>
  mine.map((one, at) => ({...now[at] ?? none(), ...Object.fromEntries(CELLS.filter(({cell}) => one[cell].trim() !== before[at]?.[cell].trim()).map(({cell}) => [cell, one[cell]]))}));

const words = (text: string) => text.split(/\s+/).filter(Boolean);
const lines = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** Places that say something; the first is 1. */
export function rowsOf(places: PlaceDraft[]): SheetRow[] {
  return places.flatMap((one, at) => {
    const row: SheetRow = {
      place: at + 1,
      ...(one.hostname.trim() ? {hostname: one.hostname.trim()} : {}),
      ...(words(one.addresses).length ? {addresses: words(one.addresses)} : {}),
      ...(words(one.packages).length ? {packages: words(one.packages)} : {}),
      ...(one.disk.trim() ? {disk: one.disk.trim()} : {}),
      ...(lines(one.keys).length ? {ssh_keys: lines(one.keys)} : {}),
      ...(one.user_data ? {user_data: one.user_data} : {}),
    };
    return Object.keys(row).length > 1 ? [row] : [];
  });
}

/** What is wrong, and what may stand there, where the message does not say it already. */
export const saidOf = (one: ProblemItem) => (one.allowed && !one.message.includes(one.allowed) ? `${one.message}: ${one.allowed}` : one.message);

/** Errors of a request by place and cell: "1 hostname". Pointers count the rows that were sent, of CSV the lines. */
export function errorsByCell(errors: ProblemItem[], sent: SheetRow[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const one of errors) {
    const [, index, member] = /^\/(?:rows|sheet)\/(\d+)\/(\w+)/.exec(one.pointer ?? "") ?? [];
    const place = sent[Number(index)]?.place;
    if (place !== undefined && member) found.set(`${place} ${member}`, saidOf(one));
  }
  return found;
}
