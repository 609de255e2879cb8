// What a tenant may have at most, in words: as `haasctl tenant limit` takes and prints them.
import type {LimitKind, TenantLimits} from "../../api/types";
import {bytes, count} from "../../part/time";

export type Limit = TenantLimits["items"][number];

export const KINDS: Record<LimitKind, string> = {
  nodes: "nodes", volume_bytes: "volumes and archives", networks: "networks", images: "images", packages: "packages", image_bytes: "images and packages, size",
};
const OPTIONS: Partial<Record<LimitKind, string>> = {volume_bytes: "--volumes", networks: "--networks", images: "--images", packages: "--packages", image_bytes: "--image-bytes"};
const UNITS: Record<string, number> = {"": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40, P: 2 ** 50};

const isBytes = (kind: LimitKind) => kind.endsWith("_bytes");

export const titleOf = (one: {kind: LimitKind; class: string | null}) => (one.class ? `${KINDS[one.kind]} of class ${one.class}` : KINDS[one.kind]);
export const amountOf = (kind: LimitKind, amount: number | null) => (amount === null ? "no limit" : isBytes(kind) ? bytes(amount) : count(amount));

/** "16", "20T", "none", "default"; undefined: it is none of them. */
export function itemOf(kind: LimitKind, cls: string | null, word: string): {kind: LimitKind; class?: string; amount?: number | null; default?: boolean} | undefined {
  const of = {kind, ...(cls ? {class: cls} : {})};
  if (word === "none") return {...of, amount: null};
  if (word === "default") return {...of, default: true};
  const found = /^(\d{1,15})([KMGTP]?)$/i.exec(word.trim());
  if (!found) return undefined;
  const unit = (found[2] ?? "").toUpperCase();
  if (unit && !isBytes(kind)) return undefined;
  return {...of, amount: Number(found[1]) * (UNITS[unit] ?? 1)};
}

export function lineOf(tenant: string | null, kind: LimitKind, cls: string | null, word: string): string {
  const option = OPTIONS[kind];
  return `haasctl tenant limit set ${tenant ?? "--site"} ${option ? `${option} ${word || "..."}` : `${cls ? `--class ${cls} ` : ""}${word || "..."}`}`;
}
