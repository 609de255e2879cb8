// The draft of a PDCI: what the form holds, kept in this browser until it is asked for, and the body of POST /pdcis that it makes.
import {signal} from "@preact/signals";
import type {PdciCreate} from "../../api/types";
import {me} from "../../app/session";
import {rowsOf, type PlaceDraft} from "../sheet/rows";

export interface NetworkDraft {
  /** Stays while its name is typed. */
  key: number;
  name: string;
  prefix: string;
}

export interface BondDraft {
  name: string;
  nics: string[];
}

export type Use = "untagged" | "tagged";

export interface GroupDraft {
  class: string;
  count: number;
  image: string;
  disks: string;
  min_disk: string;
  disk_kind: "" | "flash" | "rotating";
  /** Says itself which NIC carries what; else all networks are on the NIC that boots. */
  wired: boolean;
  bonds: BondDraft[];
  /** NIC or bond, key of the network, how. */
  nics: Record<string, Record<string, Use>>;
}

export interface VolumeDraft {
  kind: "new" | "archive" | "there";
  name: string;
  size: string;
  archive: string;
  keep: boolean;
}

export interface Draft {
  name: string;
  tenant: string;
  groups: GroupDraft[];
  networks: NetworkDraft[];
  volumes: VolumeDraft[];
  spread: "near" | "rack";
  spare: "none" | "automatic";
  keys: string;
  user_data: string;
  packages: string[];
  /** A row a place, in the order of places. */
  places: PlaceDraft[];
}

export const newGroup = (): GroupDraft => ({class: "", count: 1, image: "", disks: "", min_disk: "", disk_kind: "", wired: false, bonds: [], nics: {}});

const empty = (): Draft => ({
  name: "", tenant: "", groups: [newGroup()], networks: [], volumes: [], spread: "near", spare: "none", keys: "", user_data: "", packages: [], places: [],
});

export const draft = signal<Draft>(empty());

const place = () => `draft pdci ${me.value?.actor ?? ""}`;

/** What this person typed before, if there is any. User data may hold secrets: it stays in the tab. */
export function loadDraft() {
  try {
    const kept = JSON.parse(localStorage.getItem(place()) ?? "null") as Partial<Draft> | null;
    const secret = JSON.parse(sessionStorage.getItem(place()) ?? "null") as {user_data: string; places: string[]} | null;
    draft.value = {...empty(), ...kept, user_data: secret?.user_data ?? ""};
    draft.value.places = draft.value.places.map((one, at) => ({...one, user_data: secret?.places[at] ?? ""}));
  } catch {
    draft.value = empty();
  }
}

export function change(more: Partial<Draft>) {
  draft.value = {...draft.value, ...more};
  const {user_data, ...rest} = draft.value;
  localStorage.setItem(place(), JSON.stringify({...rest, places: rest.places.map((one) => ({...one, user_data: ""}))}));
  sessionStorage.setItem(place(), JSON.stringify({user_data, places: rest.places.map((one) => one.user_data)}));
}

export function forgetDraft() {
  draft.value = empty();
  localStorage.removeItem(place());
  sessionStorage.removeItem(place());
}

export const isEmpty = (one: Draft) => JSON.stringify(one) === JSON.stringify(empty());

export function changeAt<K extends "groups" | "networks" | "volumes">(list: K, at: number, more: Partial<Draft[K][number]>) {
  change({[list]: draft.value[list].map((one, i) => (i === at ? {...one, ...more} : one))} as Pick<Draft, K>);
}

export function removeAt(list: "groups" | "networks" | "volumes", at: number) {
  change({[list]: (draft.value[list] as unknown[]).filter((_, i) => i !== at)});
}

const UNITS: Record<string, number> = {"": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40, P: 2 ** 50};

/** "500G", "1.5 TiB", as haasctl takes them; undefined: no size. */
export function sizeOf(text: string): number | undefined {
  const found = /^\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGTP]?)(?:i?B)?\s*$/i.exec(text);
  if (!found) return undefined;
  const size = Number(found[1]) * (UNITS[(found[2] ?? "").toUpperCase()] ?? 1);
  return size > 0 ? Math.floor(size / 4096) * 4096 : undefined;
}

export const linesOf = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** Which NIC carries what, with the mode that follows: an untagged network is alone, or beside tagged ones. */
export function nicsOf(group: GroupDraft, networks: NetworkDraft[]) {
  const made: {nic: string; network: string; mode: "access" | "native" | "tagged"}[] = [];
  const bonded = new Set(group.bonds.flatMap((bond) => bond.nics));
  for (const [nic, uses] of Object.entries(group.nics)) {
    if (bonded.has(nic)) continue;
    const here = networks.filter((one) => uses[one.key]);
    const tagged = here.some((one) => uses[one.key] === "tagged");
    for (const one of here) made.push({nic, network: one.name, mode: uses[one.key] === "tagged" ? "tagged" : tagged ? "native" : "access"});
  }
  return made;
}

function groupBody(group: GroupDraft, networks: NetworkDraft[]): PdciCreate["groups"][number] {
  const disks = group.disks || group.min_disk || group.disk_kind;
  return {
    ...(group.class ? {class: group.class} : {}),
    count: group.count,
    image: group.image,
    ...(disks ? {disks: {count: Number(group.disks) || 1, ...(group.min_disk ? {min_bytes: sizeOf(group.min_disk) ?? 0} : {}), ...(group.disk_kind ? {rotational: group.disk_kind === "rotating"} : {})}} : {}),
    ...(group.bonds.length ? {bonds: group.bonds} : {}),
    ...(group.wired || group.bonds.length ? {nics: nicsOf(group, networks)} : {}),
  } as PdciCreate["groups"][number];
}

function volumeBody(one: VolumeDraft) {
  if (one.kind === "there") return {volume: one.name};
  return {name: one.name, ...(one.kind === "archive" ? {archive: one.archive} : {size_bytes: sizeOf(one.size) ?? 0}), keep: one.keep};
}

export const placesOf = (one: Draft) => one.groups.flatMap((group) => Array.from({length: Math.max(0, group.count || 0)}, () => group.class || "any class"));

export const sheetOf = (one: Draft) => rowsOf(one.places.slice(0, placesOf(one).length));

export function bodyOf(one: Draft, name: string): PdciCreate {
  const params = {
    ...(linesOf(one.keys).length ? {ssh_keys: linesOf(one.keys)} : {}),
    ...(one.user_data ? {user_data: one.user_data} : {}),
    ...(one.packages.length ? {packages: one.packages} : {}),
  };
  return {
    name,
    ...(one.tenant ? {tenant: one.tenant} : {}),
    groups: one.groups.map((group) => groupBody(group, one.networks)),
    ...(one.networks.length ? {networks: one.networks.map((network) => ({name: network.name, ...(network.prefix ? {prefix: network.prefix} : {})}))} : {}),
    ...(one.volumes.length ? {volumes: one.volumes.map(volumeBody)} : {}),
    spread: one.spread,
    spare: one.spare,
    ...(sheetOf(one).length ? {sheet: sheetOf(one)} : {}),
    ...(Object.keys(params).length ? {params} : {}),
  } as PdciCreate;
}
