// What one may do to a switch: each asks the switch itself.
import {write} from "../../api/client";
import {may} from "../../app/session";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {healthOf, oneSwitch, portsOf} from "./sources";

const again = (name: string) => {
  for (const source of [oneSwitch(name), portsOf(name), healthOf(name)]) void source.reload();
};

export function readNow(name: string): Ask {
  return {
    title: "Read it now", noun: "switch", names: [name], button: "Read",
    children: <p>All of it is asked, also while it is left alone because it was silent. A large switch takes a minute.</p>,
    line: () => `haasctl switch read ${quote(name)}`,
    act: async () => {
      await write("POST /api/v1/switches/{switch}/read", {place: {switch: name}});
      again(name);
    },
  };
}

export function reconcile(name: string): Ask {
  return {
    title: "Repair differences", noun: "switch", names: [name], button: "Repair", destructive: true,
    children: <p>What differs from the plan is changed on the switch. Ports and VLANs that are not ours stay as they are.</p>,
    line: () => `haasctl switch reconcile ${quote(name)}`,
    act: async () => {
      await write("POST /api/v1/switches/{switch}/reconcile", {place: {switch: name}});
      again(name);
    },
  };
}

export const BLINK_S = 60;

export function locate(name: string, port: string, nic: string): Ask {
  return {
    title: "Blink its LED", noun: "port", names: [`${name}:${port}`], button: "Blink",
    children: <p>It blinks for {BLINK_S} s, where the switch can.</p>,
    line: () => `haasctl nic locate ${quote(nic)} --blink ${BLINK_S}s`,
    act: async () => {
      await write("POST /api/v1/switches/{switch}/locate", {place: {switch: name}, body: {port, seconds: BLINK_S}});
    },
  };
}

export function SwitchActions({name, ask}: {name: string; ask: (ask: Ask) => void}) {
  if (!may("switch_read")) return null;
  return (
    <div class="actions">
      <button type="button" class="button" onClick={() => ask(readNow(name))}>Read now</button>
      {may("switch_reconcile") && <button type="button" class="button danger" onClick={() => ask(reconcile(name))}>Repair differences…</button>}
    </div>
  );
}
