// How links and loads are written: the same in the table, the panel and for who cannot see the picture.
import type {LinkLoad, TopologyLink} from "../../api/types";
import {bits, clock} from "../../part/time";

/** A name as a part of a drill path. */
export function pathWord(name: string): string {
  return name.replace(/[%/:~]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
}

export function cableOf(link: TopologyLink): string {
  return `${link.a_switch}:${link.a_port} – ${link.b_switch}:${link.b_port}`;
}

export function percent(load: LinkLoad): string {
  return load?.percent === null || load?.percent === undefined ? "–" : `${load.percent.toFixed(1)} %`;
}

/** With its bound, by whom, and the second it belongs to. */
export function wholeLoad(load: LinkLoad): string {
  if (!load) return "nobody told it in the last minutes";
  const bound = Math.round((load.high - load.low) / 2);
  return `${bits(load.bits_per_second)}${bound > 0 ? ` ± ${bits(bound)}` : ""}, ${percent(load)}, by ${load.by} to ${clock(load.at)}`;
}

/** Two nodes of a tenant, and how the address says that the path between them is chosen. */
export interface Ends {
  tenant: string;
  a: string;
  b: string;
}

export const PATH = "path:";
export const pathHref = ({tenant, a, b}: Ends) => `/topology?${new URLSearchParams({tenant, at: `${PATH}${a}~${b}`}).toString()}`;
