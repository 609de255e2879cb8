// The fabric as one picture, and what a link carried.
import {read} from "../../api/client";
import {sourceOf} from "../../api/source";
import type {Path} from "../../api/types";
import {workedOn} from "../../app/case";
import {natural} from "../../part/table";
import {cableOf} from "./words";

export const topology = (fabric?: string, tenant?: string) =>
  sourceOf(`topology ${fabric ?? ""} ${tenant ?? ""}`, () => ({
    load: async () => {
      const all = await read("/api/v1/topology", {}, {fabric, tenant});
      all.switches.sort((a, b) => natural(a.name, b.name));
      all.links.sort((a, b) => natural(cableOf(a), cableOf(b)));
      all.nodes.sort((a, b) => natural(a.node, b.node) || natural(a.nic, b.nic));
      return all;
    },
    touches: (event) => /^(link|port|switch|nic)\./.test(event.kind),
    every: (value) => ((value?.nodes.length ?? 0) > 2000 ? 30000 : 10000),
  }));

/** What left a port: of the link, as the drill path says it. */
export const linkSeries = (path: string, window: string) =>
  sourceOf(`series ${path} ${window}`, () => ({
    load: () => read("/api/v1/drill/series", {}, {path, window}),
    every: () => (window === "5m" ? 2000 : 15000),
  }));

export const portSeries = (name: string, port: string, window: string) =>
  sourceOf(`port series ${name} ${port} ${window}`, () => ({
    load: () => read("/api/v1/switches/{switch}/series", {switch: name}, {port, window}),
    every: () => 30000,
  }));

/** The path between two nodes. A case keeps what a person asked, not what the page asks again by itself. */
export const pathBetween = (tenant: string, a: string, b: string) =>
  sourceOf<Path | null>(`path ${tenant} ${a} ${b} ${workedOn.peek() ?? ""}`, () => {
    let asked = workedOn.peek();
    return {
      load: () => {
        const number = asked;
        asked = undefined;
        return read("/api/v1/tenants/{tenant}/path", {tenant}, {a, b, case: number});
      },
      touches: (event) => /^(link|port|nic)\./.test(event.kind) || event.subject === a || event.subject === b,
      every: () => 5000,
    };
  });

/** Where none is asked for. */
export const noPath = () => sourceOf<Path | null>("path of nobody", () => ({load: async () => null, every: () => 3600000}));
