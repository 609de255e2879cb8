// Switches: how they are managed, how they are, what they sample, their ports.
import {read, readAll} from "../../api/client";
import {sourceOf} from "../../api/source";
import {natural} from "../../part/table";

const ofSwitches = (event: {kind: string; subject_kind: string}) => event.subject_kind === "switch" || event.kind.startsWith("switch.");

export const switches = () => sourceOf("switches", () => ({load: async () => (await readAll("/api/v1/switches", {})).sort((a, b) => natural(a.name, b.name)), touches: ofSwitches, every: () => 15000}));
export const switchHealth = () => sourceOf("switch health", () => ({load: () => readAll("/api/v1/switch-health", {}), every: () => 30000}));
export const samplings = () => sourceOf("samplings", () => ({load: () => readAll("/api/v1/sampling", {}), every: () => 30000}));

export const fabrics = () => sourceOf("fabrics", () => ({load: () => readAll("/api/v1/fabrics", {}), touches: (event) => event.kind.startsWith("fabric."), every: () => 60000}));

export const oneSwitch = (name: string) =>
  sourceOf(`switch ${name}`, () => ({load: () => read("/api/v1/switches/{switch}", {switch: name}), touches: (event) => event.subject === name, every: () => 10000}));
export const healthOf = (name: string) => sourceOf(`switch health ${name}`, () => ({load: () => read("/api/v1/switches/{switch}/health", {switch: name}), every: () => 30000}));
export const portsOf = (name: string) =>
  sourceOf(`switch ports ${name}`, () => ({
    load: async () => (await read("/api/v1/switches/{switch}/ports", {switch: name})).items.sort((a, b) => natural(a.port, b.port)),
    touches: (event) => event.kind.startsWith("port.") && event.subject.startsWith(`${name}:`),
    every: () => 15000,
  }));
