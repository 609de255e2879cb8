// Where traffic is looked at, as one text: the same reference as in the API, in haasctl drill and in a ticket (common/model/drill_url.h, drill_path.h).

export interface Spot {
  /** As the API takes it: "link:leaf3:up1/tenant:acme"; "" = all links. */
  path: string;
  /** The end; undefined = now, and it follows. */
  at?: string | undefined;
  /** "5m". */
  window: string;
}

export const WINDOW = "5m";
const MARK = "/drill";
/** What stands in the query as it is; the rest is a byte each. */
const PLAIN = /[A-Za-z0-9\-._~:/@,]/;

function valueOf(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => {
    const letter = String.fromCharCode(byte);
    return PLAIN.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}

export function drillUrl({path, at, window}: {path: string; at?: string | null | undefined; window?: string | undefined}): string {
  const words = [["path", path], ["at", at ?? ""], ["window", window ?? ""]].filter(([, value]) => value);
  return MARK + words.map(([name, value], index) => `${index ? "&" : "?"}${name}=${valueOf(value!)}`).join("");
}

export function spotOf(query: URLSearchParams): Spot {
  return {path: query.get("path") ?? "", at: query.get("at") || undefined, window: query.get("window") || WINDOW};
}

/** What a person pasted: a reference, a whole URL, a haasctl line, or a path. undefined: none of them. */
export function pasted(text: string): string | undefined {
  const bare = text.trim().replace(/^haasctl +drill +/, "").replace(/^'(.*)'$/, "$1");
  if (bare === "") return MARK;
  const at = bare.search(/\/drill(\?|$)/);
  if (at === 0 || /^https?:\/\/[^/]+$/.test(bare.slice(0, at))) return drillUrl(spotOf(new URLSearchParams(bare.slice(at + MARK.length).replace(/#.*$/, "").replace(/\+/g, "%2B"))));
  return /^(link|tenant|nobody):/.test(bare) ? drillUrl({path: bare}) : undefined;
}

export type Level = "all" | "link" | "owner" | "vlan" | "pair" | "flow";

export interface Part {
  path: string;
  /** As people call it: link, tenant, VLAN. */
  word: string;
  name: string;
}

export interface Flow {
  source: string;
  source_port: number;
  target: string;
  target_port: number;
  protocol: number;
  ethertype: number;
  forward: boolean;
}

const PROTOCOLS: Record<number, string> = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmp6"};
const socket = (address: string, port: number) => (port ? `${address.includes(":") ? `[${address}]` : address}:${port}` : address);

export const protocolName = (number: number) => PROTOCOLS[number] ?? `protocol ${number}`;

export function flowOf(path: string): Flow | undefined {
  const part = path.split("/").find((one) => one.startsWith("flow:"));
  if (!part) return undefined;
  const words = part.slice(5).split("~").map(decoded);
  return {
    source: words[0] ?? "", source_port: Number(words[1]), target: words[2] ?? "", target_port: Number(words[3]), protocol: Number(words[4]),
    ethertype: Number(words[5]), forward: words[6] === "forward",
  };
}

export function flowName(flow: Flow): string {
  if (!flow.source) return `EtherType 0x${flow.ethertype.toString(16).padStart(4, "0")} ${flow.forward ? "forward" : "back"}`;
  return `${socket(flow.source, flow.source_port)} > ${socket(flow.target, flow.target_port)} ${protocolName(flow.protocol)}`;
}

/** A name inside a path; one that is spelled wrong stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const WORDS: Record<string, string> = {link: "link", tenant: "tenant", nobody: "nobody's", vlan: "VLAN", pair: "pair", flow: "flow"};

/** The levels that were chosen so far, each with its own path. */
export function partsOf(path: string): Part[] {
  const parts = path ? path.split("/") : [];
  return parts.map((part, at) => {
    const mark = part.indexOf(":");
    const kind = part.slice(0, mark);
    const rest = part.slice(mark + 1);
    const here = parts.slice(0, at + 1).join("/");
    const flow = kind === "flow" ? flowOf(here) : undefined;
    const name = flow ? flowName(flow) : kind === "pair" ? rest.split("~").map(decoded).join(" ~ ") : rest.split(":").map(decoded).join(":");
    return {path: here, word: WORDS[kind] ?? kind, name};
  });
}

export function above(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

/** One part of a path by its kind, in plain: "link" -> ["leaf3", "up1"]. */
export function named(path: string, kind: string): string[] {
  const part = path.split("/").find((one) => one.startsWith(`${kind}:`));
  return part ? part.slice(kind.length + 1).split(kind === "pair" ? "~" : ":").map(decoded) : [];
}

export const ROWS: Record<Level, string> = {all: "links", link: "tenants", owner: "VLANs", vlan: "pairs", pair: "flows", flow: "packets"};
export const HEADS: Record<Level, string> = {all: "Link", link: "Tenant", owner: "VLAN", vlan: "Pair", pair: "Flow", flow: "Flow"};

const LETTERS: Record<string, number> = {s: 1, m: 60, h: 3600, d: 86400};

export function secondsOf(window: string): number {
  return Number(window.slice(0, -1)) * (LETTERS[window.slice(-1)] ?? 60) || 300;
}

/** RFC 3339 in UTC, whole seconds: as the API writes it. */
export function stamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
