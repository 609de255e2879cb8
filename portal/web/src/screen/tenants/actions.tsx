// What an operator does about a tenant.
import {signal} from "@preact/signals";
import {Refusal, write} from "../../api/client";
import type {TenantLimits} from "../../api/types";
import {editsOf, type Members} from "../../part/changed";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {Choice, Field} from "../../part/field";
import {amountOf, itemOf, lineOf, titleOf, type Limit} from "./limits";
import {limits, tenant, tenants} from "./sources";

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
const limitsOf = (all: TenantLimits): Members => Object.fromEntries(all.items.map((one) => [keyOf(one), `${amountOf(one.kind, one.limit)}${one.own ? "" : ", by the site"}`]));

/** What was typed, as what is set is shown. */
function saidOf(one: Limit, word: string): string {
  const item = itemOf(one.kind, one.class, word.trim());
  return !item ? word : item.default ? "by the site" : amountOf(one.kind, item.amount ?? null);
}

/** One limit of it: a number, none, or the site's. */
export function limit(name: string, all: TenantLimits, row: Limit): Ask {
  const rows = all.items;
  const which = signal(keyOf(row));
  const amount = signal(row.own && row.limit !== null ? String(row.limit) : row.own ? "none" : "");
  const chosen = () => rows.find((one) => keyOf(one) === which.value) ?? row;
  return {
    title: `Limit of ${name}`, noun: "tenant", names: [name], button: "Set", reason: "kept",
    children: (
      <>
        <Choice label="Of what" value={which} words={rows.map((one): [string, string] => [keyOf(one), `${titleOf(one)}: has ${amountOf(one.kind, one.used)}`])} />
        <Field label="At most" value={amount} required example="16, 20T, none or default" hint="none: no limit. default: what the site says. It counts for what is asked for from now on; nothing is taken away." />
      </>
    ),
    line: () => lineOf(name, chosen().kind, chosen().class, amount.value),
    edits: editsOf(`A limit of ${name}`, Object.fromEntries(rows.map((one) => [keyOf(one), titleOf(one)])), all, limitsOf, () => ({[which.value]: saidOf(chosen(), amount.value)}), {kind: "tenant.limited", subject_kind: "tenant", subject: name}),
    act: async (why, version = all.version) => {
      const item = itemOf(chosen().kind, chosen().class, amount.value.trim());
      if (!item) throw new Refusal(422, {title: `"${amount.value}" is no limit`, hint: "a number, of sizes with K, M, G, T or P; none; default"});
      await write("PATCH /api/v1/tenants/{tenant}/limits", {place: {tenant: name}, body: {limits: [item]}, version, why});
      await Promise.all([limits(name).reload(), tenant(name).reload()]);
    },
  };
}
