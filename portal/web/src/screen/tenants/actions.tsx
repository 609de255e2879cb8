// What an operator does about a tenant.
import {signal} from "@preact/signals";
import {Refusal, write} from "../../api/client";
import type {SiteLimits, TenantLimits} from "../../api/types";
import {editsOf, type Members} from "../../part/changed";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {Choice, Field} from "../../part/field";
import {amountOf, itemOf, KINDS, lineOf, titleOf, type Limit} from "./limits";
import {limits, siteLimits, tenant, tenants} from "./sources";

export function create(): Ask {
  const name = signal("");
  return {
    title: "New tenant", noun: "tenant", names: [], button: "Create",
    children: <Field label="Name" value={name} required max={63} example="acme" hint="Small letters, digits and -. It stays: paths and usage are kept under it." />,
    line: () => `haasctl tenant create ${quote(name.value || "NAME")}`,
    act: async () => {
      await write("POST /api/v1/tenants", {body: {name: name.value.trim()}});
      await tenants().reload();
    },
  };
}

export function remove(name: string, left: Record<string, number>): Ask {
  const has = Object.entries(left).map(([kind, many]) => `${many} ${kind}`).join(", ");
  return {
    title: `Delete tenant ${name}`, noun: "tenant", names: [name], button: "Delete", destructive: true,
    children: has ? <p>It still has {has}. portald refuses as long as it has any.</p> : <p>Its accounts and webhooks go with it. Its usage and events stay.</p>,
    line: () => `haasctl tenant delete ${quote(name)}`,
    act: async () => {
      await write("DELETE /api/v1/tenants/{tenant}", {place: {tenant: name}});
      await tenants().reload();
    },
  };
}

const keyOf = (one: {kind: string; class: string | null}) => `${one.kind} ${one.class ?? ""}`;
const limitsOf = (all: Pick<TenantLimits, "items">): Members => Object.fromEntries(all.items.map((one) => [keyOf(one), `${amountOf(one.kind, one.limit)}${one.own ? "" : ", by the site"}`]));

/** What was typed, as what is set is shown. */
function saidOf(one: Limit, word: string): string {
  const item = itemOf(one.kind, one.class, word.trim());
  return !item ? word : item.default ? "by the site" : amountOf(one.kind, item.amount ?? null);
}

/** Of the site: one row a kind, limited or not, and those of classes. */
export function siteRows(all: Pick<SiteLimits, "items">): Limit[] {
  const kinds = Object.keys(KINDS) as Limit["kind"][];
  const bare = kinds.filter((kind) => !all.items.some((one) => one.kind === kind && one.class === null)).map((kind) => ({kind, class: null, limit: null}));
  return [...all.items, ...bare].sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind)).map((one) => ({...one, used: 0, free: null, own: true}) as Limit);
}

/** One limit: a number, none, or the site's. Without a tenant: of all that have none of their own. */
export function limit(name: string | null, all: Pick<TenantLimits, "items" | "version">, row: Limit): Ask {
  const rows = all.items;
  const which = signal(keyOf(row));
  const amount = signal(row.own && row.limit !== null ? String(row.limit) : row.own ? "none" : "");
  const of = (now: Pick<TenantLimits, "items" | "version">) => limitsOf(name === null ? {items: siteRows(now as SiteLimits)} : now);
  const chosen = () => rows.find((one) => keyOf(one) === which.value) ?? row;
  return {
    title: `Limit of ${name ?? "tenants without their own"}`, noun: "tenant", names: name === null ? [] : [name], button: "Set", reason: "kept",
    children: (
      <>
        <Choice label="Of what" value={which} words={rows.map((one): [string, string] => [keyOf(one), name === null ? titleOf(one) : `${titleOf(one)}: has ${amountOf(one.kind, one.used)}`])} />
        <Field label="At most" value={amount} required example={name === null ? "16, 20T or none" : "16, 20T, none or default"} hint={`none: no limit.${name === null ? "" : " default: what the site says."} It counts for what is asked for from now on; nothing is taken away.`} />
      </>
    ),
    line: () => lineOf(name, chosen().kind, chosen().class, amount.value),
    edits: editsOf(`A limit of ${name ?? "the site"}`, Object.fromEntries(rows.map((one) => [keyOf(one), titleOf(one)])), all, of, () => ({[which.value]: saidOf(chosen(), amount.value)}), name === null ? {kind: "tenant.limited", subject_kind: "site"} : {kind: "tenant.limited", subject_kind: "tenant", subject: name}),
    act: async (why, version = all.version) => {
      const item = itemOf(chosen().kind, chosen().class, amount.value.trim());
      if (!item) throw new Refusal(422, {title: `"${amount.value}" is no limit`, hint: "a number, of sizes with K, M, G, T or P; none; default"});
      const said = {body: {limits: [item]}, version, why};
      if (name === null) {
        await write("PATCH /api/v1/limits", said);
        return siteLimits().reload();
      }
      await write("PATCH /api/v1/tenants/{tenant}/limits", {place: {tenant: name}, ...said});
      await Promise.all([limits(name).reload(), tenant(name).reload()]);
    },
  };
}
