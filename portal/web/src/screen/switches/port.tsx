// What an operator does about a port: the networks that it is in, whether it is ours, the node that is meant to be behind it.
import {signal} from "@preact/signals";
import {write} from "../../api/client";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {Field} from "../../part/field";
import {useThing, type Thing} from "../../part/thing";
import {portsOf} from "./sources";

const MODES: [string, string][] = [["access", "untagged, alone"], ["native", "untagged, beside others"], ["tagged", "tagged"]];

export function PortActions({name, port, ask}: {name: string; port: string; ask: (ask: Ask) => void}) {
  const [form, edit] = useThing();
  const at = `${name}:${port}`;
  const given = {switch: name, port};
  const again = () => void portsOf(name).reload();
  const put: Thing = {
    noun: "network", title: `Put ${at} into a network`, button: "Put", key: "Network", put: "PUT /api/v1/networks/{network}/ports", line: "network attach", asked: true, given, again,
    note: "The port is ours from then on. Another tenant's node or a switch behind it is refused.",
    fields: {mode: {title: "Its frames there", words: MODES, start: "access", option: ({mode}) => `${quote(at)} --mode ${mode}`}},
  };
  const declared: Thing = {
    noun: "port", title: `What is meant to be behind ${at}`, key: null, put: "PUT /api/v1/ports", line: `port set ${quote(name)} ${quote(port)}`, asked: true, given, again,
    fields: {node: {title: "Node", hint: "Empty: any"}, address: {title: "Address it gives", max: 15, hint: "Empty: by the rule of the switch"}},
  };
  const one = (title: string, says: string, line: string, act: () => Promise<unknown>, children?: preact.ComponentChildren): Ask => ({
    title, noun: "port", names: [at], button: title, destructive: true, children: <><p>{says}</p>{children}</>, line: () => `haasctl ${line}`,
    act: async () => {
      await act();
      again();
    },
  });
  const action = (word: "park" | "release") => () => write("POST /api/v1/switches/{switch}/ports/actions", {place: {switch: name}, body: {port, action: word}});
  const out = () => {
    const network = signal("");
    return one("Take out", "The last one leaves it parked.", `network detach NETWORK ${quote(at)}`, () => write("DELETE /api/v1/networks/{network}/ports", {place: {network: network.value.trim()}, query: given}), <Field label="Network" value={network} required max={63} />);
  };
  const hard: [string, () => Ask][] = [
    ["Take out of a network", out],
    ["Park", () => one("Park", "It is ours, and out of every network.", `port park ${quote(at)}`, action("park"))],
    ["Release", () => one("Release", "It is ours no more: what is set on it stays, and is never changed again.", `port release ${quote(at)}`, action("release"))],
    ["Forget", () => one("Forget", "What was said to be behind it is forgotten.", `port delete ${quote(name)} ${quote(port)}`, () => write("DELETE /api/v1/ports", {query: given}))],
  ];
  return (
    <div class="actions">
      <button type="button" class="button" onClick={() => edit(put)}>Into a network</button>
      <button type="button" class="button" onClick={() => edit(declared)}>Node behind it</button>
      {hard.map(([title, to]) => <button key={title} type="button" class="button danger" onClick={() => ask(to())}>{title}…</button>)}
      {form}
    </div>
  );
}
