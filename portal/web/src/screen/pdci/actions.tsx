// Lock, release, replace and reinstall.
import {signal, type Signal} from "@preact/signals";
import {write} from "../../api/client";
import {useSource} from "../../api/source";
import {pdci as pdciSource, pdcis} from "../../api/sources";
import type {Pdci} from "../../api/types";
import {isSite} from "../../app/session";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {Choice} from "../../part/field";
import {count} from "../../part/time";
import {classes, images} from "../wizard/sources";

export type Member = NonNullable<Pdci["nodes"]>[number];

interface Group {
  class: string;
  image: string;
  spare?: "none" | "automatic";
}

export const groupOf = (pdci: Pdci, member: Member) => (pdci.request as {groups?: Group[]} | undefined)?.groups?.[member.group];
export const owner = (pdci: Pdci) => (isSite.value ? pdci.tenant : undefined);
const tenantWords = (pdci: Pdci) => (isSite.value ? ` --tenant ${quote(pdci.tenant)}` : "");

const again = (pdci: Pdci) => Promise.all([pdciSource(pdci.name, owner(pdci)).reload(), pdcis(true).reload()]);

async function ask(pdci: Pdci, action: "release" | "replace" | "lock" | "unlock", why: string, node?: string) {
  await write("POST /api/v1/pdcis/{pdci}/actions", {place: {pdci: pdci.name}, query: {tenant: owner(pdci)}, body: {action, ...(node ? {node} : {})}, why});
  await again(pdci);
}

export function lock(pdci: Pdci): Ask {
  const action = pdci.locked ? "unlock" : "lock";
  return {
    title: pdci.locked ? "Unlock the PDCI" : "Lock the PDCI", noun: "PDCI", names: [pdci.name], button: pdci.locked ? "Unlock" : "Lock", reason: "kept",
    children: <p>{pdci.locked ? "Release, replace, reinstall and power are answered again." : "Release, replace, reinstall and power of its nodes are refused until it is unlocked."}</p>,
    line: () => `haasctl pdci ${action} ${quote(pdci.name)}${tenantWords(pdci)}`,
    act: (why) => ask(pdci, action, why),
  };
}

export function release(pdci: Pdci): Ask {
  const nodes = (pdci.nodes ?? []).filter((one) => !one.released_at).map((one) => one.node);
  return {
    title: `Release ${pdci.name}`, noun: nodes.length ? "node" : "PDCI", names: nodes.length ? nodes : [pdci.name], button: "Release", destructive: true, reason: "kept",
    children: <p>All data on its nodes is erased. Networks, addresses and nodes go back. This cannot be undone. Its proofs of erasure stay here.</p>,
    line: () => `haasctl pdci release ${quote(pdci.name)}${tenantWords(pdci)}`,
    act: (why) => ask(pdci, "release", why),
  };
}

/** Free nodes of a class; undefined: not known yet. */
export function useSpares(pdci: Pdci): ((name: string) => number) | undefined {
  const offered = useSource(classes(isSite.value ? pdci.tenant : "")).value;
  return offered && ((name) => offered.items.find((one) => one.class === name)?.free ?? 0);
}

function Spares({pdci, member}: {pdci: Pdci; member: Member}) {
  const spares = useSpares(pdci);
  if (!spares) return null;
  const free = spares(member.class);
  return free > 0 ? <p><b>{count(free)}</b> {free === 1 ? "node" : "nodes"} of class {member.class} {free === 1 ? "is" : "are"} free now.</p> : <p class="note wait">No node of class {member.class} is free. The place stays empty until there is one.</p>;
}

export function replace(pdci: Pdci, member: Member): Ask {
  return {
    title: `Replace ${member.node}`, noun: "node", names: [member.node], button: "Replace", destructive: true, reason: "kept",
    children: (
      <>
        <p>The node is taken off every network and erased. Another one takes its place, with the same networks and addresses.</p>
        <Spares pdci={pdci} member={member} />
      </>
    ),
    line: () => `haasctl pdci replace ${quote(pdci.name)} ${quote(member.node)}${tenantWords(pdci)}`,
    act: (why) => ask(pdci, "replace", why, member.node),
  };
}

function ImageChoice({value, asked}: {value: Signal<string>; asked: string[]}) {
  const there = (useSource(images()).value ?? []).filter((one) => one.state === "ready").map((one) => `${one.name}:${one.version}`);
  return <Choice label="Image" value={value} words={[...new Set([...asked, ...there])].map((name): [string, string] => [name, name])} />;
}

export function reinstall(pdci: Pdci, members: Member[]): Ask {
  const asked = [...new Set(members.map((one) => groupOf(pdci, one)?.image ?? "").filter(Boolean))];
  const image = signal(asked[0] ?? "");
  const names = members.map((one) => one.node);
  return {
    title: "Reinstall", noun: "node", names, button: "Reinstall", destructive: true, reason: "kept",
    children: (
      <>
        <p>The disk of the OS is written anew. Networks and addresses stay. The OS sheet says the rest of each place.</p>
        <ImageChoice value={image} asked={asked} />
      </>
    ),
    line: () => `haasctl deployment create --plan reinstall --image ${quote(image.value || "IMAGE")}${tenantWords(pdci)} ${names.map(quote).join(" ")}`,
    act: async (why) => {
      await write("POST /api/v1/deployments", {body: {plan: "reinstall", nodes: names, image: image.value, ...(isSite.value ? {tenant: pdci.tenant} : {})}, why});
      await again(pdci);
    },
  };
}
