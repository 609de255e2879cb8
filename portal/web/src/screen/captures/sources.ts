// Captures of packets and what tenants have consented to.
import {read, readAll} from "../../api/client";
import {sourceOf} from "../../api/source";
import type {Capture} from "../../api/types";

const touches = (event: {kind: string}) => event.kind.startsWith("capture.");
const under = (one: Capture) => one.state !== "ended" && one.state !== "waiting";

export const captures = (all: boolean) =>
  sourceOf(`captures ${all}`, () => ({
    load: () => readAll("/api/v1/captures", all ? {} : {active: true}),
    touches,
    every: (value) => (value?.some(under) ? 2000 : 15000),
  }));

export const capture = (id: number) =>
  sourceOf(`capture ${id}`, () => ({
    load: () => read("/api/v1/captures/{capture}", {capture: id}),
    touches,
    every: (value) => (value && under(value) ? 1000 : 15000),
  }));

export const grants = () =>
  sourceOf("capture grants", () => ({load: () => readAll("/api/v1/capture-grants", {}), touches, every: () => 30000}));

/** Where mirrored frames arrive, for operators. */
export const points = () =>
  sourceOf("capture points", () => ({load: () => readAll("/api/v1/capture-points", {}), every: () => 60000}));

export function readCapturesAgain(id?: number) {
  return Promise.all([captures(false).reload(), captures(true).reload(), ...(id ? [capture(id).reload()] : [])]).then(() => undefined);
}
