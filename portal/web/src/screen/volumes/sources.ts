// Volumes of one kind, how nodes reach one, and for the site the storages with what lies on them.
import {read, readAll} from "../../api/client";
import {sourceOf} from "../../api/source";
import type {Archive, Storage, Volume, VolumeKind} from "../../api/types";

const moves = (list: Volume[] | undefined) => list?.some((one) => one.state.endsWith("ing"));

export const volumes = (kind: VolumeKind) =>
  sourceOf<Volume[]>(`volumes ${kind}`, () => ({
    load: () => readAll("/api/v1/volumes", {active: true, kind}),
    touches: (event) => event.subject_kind === "volume" || (kind === "local" && event.subject_kind === "pdci"),
    every: (value) => (kind === "local" ? 60000 : moves(value) ? 3000 : 15000),
  }));

export const volume = (id: number) =>
  sourceOf<Volume>(`volume ${id}`, () => ({load: () => read("/api/v1/volumes/{volume}", {volume: id}), touches: (event) => event.subject_kind === "volume", every: () => 5000}));

/** bampi-stored tells how it is without an event. */
export const storages = () =>
  sourceOf<Storage[]>("storages", () => ({load: () => readAll("/api/v1/storages", {}), touches: (event) => /^(storage|volume|archive)\./.test(event.kind), every: () => 10000}));

export const archives = () =>
  sourceOf<Archive[]>("archives of storages", () => ({load: () => readAll("/api/v1/archives", {active: true}), touches: (event) => event.kind.startsWith("archive."), every: () => 30000}));
