// Cables as they were planned and as they were found, side by side; aggregates.
import {readAll} from "../../api/client";
import {sourceOf} from "../../api/source";
import type {Link, LocationPage, WiringPage} from "../../api/types";

export type Wire = WiringPage["items"][number];
export type Place = LocationPage["items"][number];

export interface Cabling {
  wires: Wire[];
  links: Link[];
  places: Place[];
}

export const cabling = () =>
  sourceOf<Cabling>("cabling", () => ({
    load: async () => {
      const [wires, links, places] = await Promise.all([readAll("/api/v1/wiring", {}), readAll("/api/v1/links", {}), readAll("/api/v1/locations", {})]);
      return {wires, links, places};
    },
    touches: (event) => /^(link|nic|wiring|port)\./.test(event.kind),
    every: () => 30000,
  }));

export const aggregates = () => sourceOf("aggregates", () => ({load: () => readAll("/api/v1/aggregates", {}), touches: (event) => event.kind.startsWith("switch."), every: () => 30000}));
