// The fabric as one picture, and what a link carried.
import {read} from "../../api/client";
import {sourceOf} from "../../api/source";
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
