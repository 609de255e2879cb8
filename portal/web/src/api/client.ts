// One request to portald: typed by openapi.yaml, with the session's cookie, its token against foreign pages, and problems as `Refusal`.
import type {Problem, Reads, Writes} from "./types";

type Place = Record<string, string | number>;
type Query = Record<string, string | number | boolean | undefined>;

/** What portald, or the way to it, says no with. Status 0: nobody answered. */
export class Refusal extends Error {
  constructor(readonly status: number, readonly problem: Partial<Problem>, readonly retryAfter = 0) {
    super(problem.title ?? "refused");
  }

  /** What an answer says no with; undefined: none came. */
  static async of(answer: Response | undefined): Promise<Refusal> {
    if (!answer) return new Refusal(0, {title: "portald does not answer", hint: "is this machine still connected?"});
    return new Refusal(answer.status, await problemOf(answer), Number(answer.headers.get("Retry-After") ?? 0));
  }
}

let token = "";
let ended: () => void = () => undefined;

export function useToken(value: string) {
  token = value;
}

/** Calls `fn` when the session is over. */
export function onEnded(fn: () => void) {
  ended = fn;
}

export function pathOf(pattern: string, place: Place = {}, query: Query = {}): string {
  const path = pattern.replace(/{(\w+)}/g, (_, name: string) => encodeURIComponent(String(place[name])));
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") words.set(name, String(value));
  return words.size ? `${path}?${words}` : path;
}

async function problemOf(answer: Response): Promise<Partial<Problem>> {
  try {
    return (await answer.json()) as Problem;
  } catch {
    return {title: `the server answered ${answer.status}`, hint: "try again; haasctl status says what is away"};
  }
}

/** Of the stream, the newest that an answer or an event told. Shared answers are not older: what was seen once does not go back. */
let position = "";
export const positionNow = () => position;

const numbersOf = (told: string) => (/^(\d+)-(\d+)/.exec(told) ?? ["", 0, 0]).slice(1).map(BigInt) as [bigint, bigint];

/** Whether one position of the stream, TRANSACTION-EVENT, lies behind another. */
export function isLater(told: string, than: string): boolean {
  const [[now, event], [then, before]] = [numbersOf(told), numbersOf(than)];
  return now > then || (now === then && event > before);
}

export function sawPosition(told: string) {
  if (isLater(told, position)) position = told;
}

async function ask(path: string, options: RequestInit, look?: (answer: Response) => void): Promise<unknown> {
  const headers: Record<string, string> = {...(options.headers as Record<string, string> | undefined), ...(position && {"Haas-Stream-Position": position})};
  const answer = await fetch(path, {credentials: "same-origin", ...options, headers}).catch(() => undefined);
  if (!answer?.ok) {
    if (answer?.status === 401 && !path.startsWith("/api/v1/login")) ended();
    throw await Refusal.of(answer);
  }
  sawPosition(answer.headers.get("Haas-Stream-Position") ?? "");
  look?.(answer);
  return answer.status === 204 ? undefined : answer.json();
}

export async function read<P extends keyof Reads>(path: P, place: Place = {}, query: Query = {}): Promise<Reads[P]> {
  return (await ask(pathOf(path, place, query), {})) as Reads[P];
}

/** What is to be edited, with the version that its ETag says. */
export async function readVersion<P extends keyof Reads>(path: P, place: Place): Promise<{value: Reads[P]; version: number}> {
  let version = 0;
  const value = (await ask(pathOf(path, place), {}, (answer) => (version = Number((answer.headers.get("ETag") ?? "").replaceAll('"', ""))))) as Reads[P];
  return {value, version};
}

interface Said<B> {
  place?: Place;
  query?: Query;
  body?: B;
  /** Kept with the events of the request. */
  why?: string;
  /** The one that was edited: refused (412) when somebody changed it meanwhile. */
  version?: number;
}

export async function write<K extends keyof Writes>(what: K, said: Said<Writes[K]["body"]> = {}): Promise<Writes[K]["answer"]> {
  const [method = "POST", path = ""] = what.split(" ");
  const headers: Record<string, string> = {"X-CSRF-Token": token, "Idempotency-Key": crypto.randomUUID()};
  if (said.body !== undefined || method === "POST") headers["Content-Type"] = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  if (said.version !== undefined) headers["If-Match"] = `"${said.version}"`;
  if (said.why) headers["Haas-Reason"] = asLatin(said.why);
  const body = said.body !== undefined ? JSON.stringify(said.body) : method === "POST" ? "{}" : undefined;
  return (await ask(pathOf(path, said.place, said.query), {method, headers, body})) as Writes[K]["answer"];
}

/** Bytes that are no JSON. */
export async function writeBytes(what: keyof Writes, place: Place, body: Uint8Array<ArrayBuffer>): Promise<void> {
  await ask(pathOf(what.split(" ")[1] ?? "", place), {method: "POST", headers: {"X-CSRF-Token": token, "Content-Type": "application/octet-stream"}, body});
}

/** A sheet over what was read. */
export async function sendCsv(what: keyof Writes, place: Place, query: Query, body: string, version: number): Promise<unknown> {
  return ask(pathOf(what.split(" ")[1] ?? "", place, query), {method: "POST", headers: {"X-CSRF-Token": token, "Content-Type": "text/csv", "If-Match": `"${version}"`}, body});
}

/** A table as the body of a POST. */
export async function sendTable<K extends keyof Writes>(what: K, query: Query, body: string): Promise<Writes[K]["answer"]> {
  const headers = {"X-CSRF-Token": token, "Idempotency-Key": crypto.randomUUID(), "Content-Type": "text/csv"};
  return (await ask(pathOf(what.split(" ")[1] ?? "", {}, query), {method: "POST", headers, body})) as Writes[K]["answer"];
}

/** All pages of a list as one table. */
export async function readTable(path: string, query: Query): Promise<string> {
  let next: string | undefined = pathOf(path, {}, {limit: 1000, ...query, format: "csv"});
  let text = "";
  while (next) {
    const answer: Response | undefined = await fetch(next, {credentials: "same-origin"}).catch(() => undefined);
    if (!answer?.ok) throw await Refusal.of(answer);
    const page = await answer.text();
    text += text ? page.slice(page.indexOf("\r\n") + 2) : page;
    next = /<([^>]+)>; rel="next"/.exec(answer.headers.get("Link") ?? "")?.[1];
  }
  return text;
}

/** fetch takes one byte a character in a header: UTF-8, spelled so. */
function asLatin(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/** All pages of a list; `seen` gets what there is after each. */
export async function readAll<P extends keyof Reads>(
  path: P, query: Query, seen?: (items: ItemsOf<P>) => void,
): Promise<ItemsOf<P>> {
  const items: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page = (await read(path, {}, {limit: 1000, ...query, cursor})) as {items: unknown[]; next: string | null};
    items.push(...page.items);
    cursor = page.next ?? undefined;
    if (cursor) seen?.(items.slice() as ItemsOf<P>);
  } while (cursor);
  return items as ItemsOf<P>;
}

export type ItemsOf<P extends keyof Reads> = Reads[P] extends {items: infer I} ? I : never;

/** A file of this browser. */
export function saveFile(part: BlobPart, type: string, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([part], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** All rows of a list as CSV, into a file: exactly what the API says, page after page. */
export async function saveCsv(path: string, query: Query, name: string) {
  saveFile(await readTable(path, query), "text/csv", name);
}
