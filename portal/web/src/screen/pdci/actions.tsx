// Lock, release and replace.
import {write} from "../../api/client";
import {pdci as pdciSource, pdcis} from "../../api/sources";
import type {Pdci} from "../../api/types";
import {isSite} from "../../app/session";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";

const owner = (pdci: Pdci) => (isSite.value ? pdci.tenant : undefined);
const words = (pdci: Pdci) => `${quote(pdci.name)}${isSite.value ? ` --tenant ${quote(pdci.tenant)}` : ""}`;

async function ask(pdci: Pdci, action: "release" | "replace" | "lock" | "unlock", why: string, node?: string) {
  await write("POST /api/v1/pdcis/{pdci}/actions", {place: {pdci: pdci.name}, query: {tenant: owner(pdci)}, body: {action, ...(node ? {node} : {})}, why});
  await Promise.all([pdciSource(pdci.name, owner(pdci)).reload(), pdcis(true).reload()]);
}

export function lock(pdci: Pdci): Ask {
  const action = pdci.locked ? "unlock" : "lock";
  return {
    title: pdci.locked ? "Unlock the PDCI" : "Lock the PDCI", noun: "PDCI", names: [pdci.name], button: pdci.locked ? "Unlock" : "Lock", reason: "kept",
    children: <p>{pdci.locked ? "Release, replace and power off are answered again." : "Release, replace and power off of its nodes are refused until it is unlocked."}</p>,
    line: () => `haasctl pdci ${action} ${words(pdci)}`,
    act: (why) => ask(pdci, action, why),
  };
}

export function release(pdci: Pdci): Ask {
  const nodes = (pdci.nodes ?? []).filter((one) => !one.released_at).map((one) => one.node);
  return {
    title: `Release ${pdci.name}`, noun: nodes.length ? "node" : "PDCI", names: nodes.length ? nodes : [pdci.name], button: "Release", destructive: true, reason: "kept",
    children: <p>All data on its nodes is erased. Networks, addresses and nodes go back. This cannot be undone.</p>,
    line: () => `haasctl pdci release ${words(pdci)}`,
    act: (why) => ask(pdci, "release", why),
  };
}

export function replace(pdci: Pdci, node: string): Ask {
  return {
    title: `Replace ${node}`, noun: "node", names: [node], button: "Replace", destructive: true, reason: "kept",
    children: <p>The node is taken off every network and erased. Another one takes its place, with the same networks and addresses.</p>,
    line: () => `haasctl pdci replace ${quote(pdci.name)} ${quote(node)}${isSite.value ? ` --tenant ${quote(pdci.tenant)}` : ""}`,
    act: (why) => ask(pdci, "replace", why, node),
  };
}
