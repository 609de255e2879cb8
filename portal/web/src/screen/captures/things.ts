// Where the mirror sessions of a switch deliver, as a thing (part/thing.tsx).
import type {Thing} from "../../part/thing";
import {points} from "./sources";

const KINDS: [string, string][] = [["", "by what stands here"], ...["port", "gre", "erspan", "vxlan"].map((kind): [string, string] => [kind, kind])];

export const POINT: Thing = {
  noun: "mirror port", put: "PUT /api/v1/capture-points/{switch}", gone: "DELETE /api/v1/capture-points/{switch}", line: "capture point", goneLine: "capture point $ --none", key: "Switch", subject: "switch", whole: true, again: () => void points().reload(),
  lost: "No packets can be captured there any more.",
  note: "Either a port of the switch, or the two addresses between which it sends its copies.",
  fields: {
    port: {title: "Port of the switch", hint: "Where mirrored frames leave"},
    interface: {title: "Interface of the collector", max: 15, hint: "Where they arrive"},
    address: {title: "Or: address of the collector", max: 15},
    origin: {title: "And of the switch", max: 15},
    collector: {title: "Collector", hint: "Which peregrine-captured. Empty: main"},
    kind: {title: "How they come", words: KINDS},
    session: {title: "GRE key, session or VNI", as: "number", max: 10, hint: "Empty: any"},
  },
};
