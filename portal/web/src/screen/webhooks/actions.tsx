// What is done about a webhook. Its secret is told once, by whoever makes it.
import {signal} from "@preact/signals";
import {write} from "../../api/client";
import type {Delivery, Webhook, WebhookSecret} from "../../api/types";
import {editsOf, type Members} from "../../part/changed";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {Field} from "../../part/field";
import {tellOnce} from "../../part/once";
import {deliveries, webhooks} from "./sources";

const readAgain = () => webhooks().reload();
const kindsOf = (text: string) => text.split(/[\s,]+/).filter(Boolean);

function tell(one: WebhookSecret) {
  tellOnce({title: `The secret of webhook ${one.name}`, secret: one.secret, next: "The receiver makes the HMAC-SHA256 of TIME.BODY by it, and compares with Haas-Signature."});
}

export function add(): Ask {
  const name = signal("");
  const url = signal("");
  const kinds = signal("");
  return {
    title: "New webhook", noun: "webhook", names: [], button: "Add",
    children: (
      <>
        <Field label="Name" value={name} required max={63} example="tickets" />
        <Field label="URL" value={url} required max={1000} inputMode="url" example="https://tickets.example.org/haas" hint="Outside of the site. No redirect is followed." />
        <Field label="Kinds of events" value={kinds} max={500} example="pdci. deployment.failed" hint="Begins of kinds, separated by blanks; empty: all." />
      </>
    ),
    line: () => `haasctl webhook add ${quote(name.value || "NAME")} ${quote(url.value || "URL")}${kindsOf(kinds.value).map((kind) => ` --kind ${quote(kind)}`).join("")}`,
    act: async () => {
      tell(await write("POST /api/v1/webhooks", {body: {name: name.value.trim(), url: url.value.trim(), kinds: kindsOf(kinds.value)}}));
      await readAgain();
    },
  };
}

const NAMES = {url: "URL", kinds: "Kinds of events", disabled: "Disabled"};
const membersOf = ({url, kinds, disabled}: Webhook): Members => ({url, kinds: kinds.join(" ") || "all", disabled});
const editsOfWebhook = (one: Webhook, mine: () => Members, merge?: (now: Webhook) => void) =>
  editsOf(`Webhook ${one.name}`, NAMES, one, membersOf, mine, {kind: "webhook.changed", subject_kind: "webhook", subject: String(one.id)}, merge);

export function change(one: Webhook): Ask {
  const url = signal(one.url);
  const kinds = signal(one.kinds.join(" "));
  return {
    title: `Change webhook ${one.name}`, noun: "webhook", names: [one.name], button: "Change", reason: "kept",
    children: (
      <>
        <Field label="URL" value={url} required max={1000} inputMode="url" />
        <Field label="Kinds of events" value={kinds} max={500} hint="Begins of kinds, separated by blanks; empty: all." />
      </>
    ),
    line: () => `haasctl webhook set ${one.id} --url ${quote(url.value)}${kindsOf(kinds.value).map((kind) => ` --kind ${quote(kind)}`).join("")}`,
    edits: editsOfWebhook(one, () => ({url: url.value.trim(), kinds: kindsOf(kinds.value).join(" ") || "all"}), (now) => {
      if (url.value === one.url) url.value = now.url;
      if (kinds.value === one.kinds.join(" ")) kinds.value = now.kinds.join(" ");
    }),
    act: async (why, version = one.version) => {
      await write("PATCH /api/v1/webhooks/{webhook}", {place: {webhook: one.id}, body: {url: url.value.trim(), kinds: kindsOf(kinds.value)}, version, why});
      await readAgain();
    },
  };
}

export function able(one: Webhook): Ask {
  const word = one.disabled ? "Enable" : "Disable";
  return {
    title: `${word} webhook ${one.name}`, noun: "webhook", names: [one.name], button: word, reason: "kept",
    children: <p>{one.disabled ? "It is told what happens from now on." : "What happens meanwhile is not told later."}</p>,
    line: () => `haasctl webhook set ${one.id} --${word.toLowerCase()}`,
    edits: editsOfWebhook(one, () => ({disabled: !one.disabled})),
    act: async (why, version = one.version) => {
      await write("PATCH /api/v1/webhooks/{webhook}", {place: {webhook: one.id}, body: {disabled: !one.disabled}, version, why});
      await readAgain();
    },
  };
}

export function newSecret(one: Webhook): Ask {
  return {
    title: "A new secret", noun: "webhook", names: [one.name], button: "Make a secret", reason: "kept", destructive: true,
    children: <p>The old one counts no more. Deliveries that the receiver refuses meanwhile are sent again.</p>,
    line: () => `haasctl webhook secret ${one.id}`,
    act: async (why) => {
      tell(await write("POST /api/v1/webhooks/{webhook}/secret", {place: {webhook: one.id}, why}));
      await readAgain();
    },
  };
}

export function remove(one: Webhook): Ask {
  return {
    title: `Remove webhook ${one.name}`, noun: "webhook", names: [one.name], button: "Remove", reason: "kept", destructive: true,
    children: <p>Its deliveries and their log go with it. {one.waiting > 0 && `${one.waiting} wait and are never sent.`}</p>,
    line: () => `haasctl webhook remove ${one.id}`,
    act: async (why) => {
      await write("DELETE /api/v1/webhooks/{webhook}", {place: {webhook: one.id}, why});
      await readAgain();
    },
  };
}

export async function redeliver(webhook: number, one: Delivery) {
  await write("POST /api/v1/webhooks/{webhook}/deliveries/{delivery}/redeliver", {place: {webhook, delivery: one.id}});
  await deliveries(webhook).reload();
}
