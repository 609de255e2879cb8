// What one may do about a capture: ask for one, consent, stop it, delete its packets.
import {signal} from "@preact/signals";
import {write} from "../../api/client";
import type {Capture, CaptureStart} from "../../api/types";
import {workedOn} from "../../app/case";
import {go} from "../../app/route";
import {isSite, me} from "../../app/session";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {grants, readCapturesAgain} from "./sources";

const SECONDS = 60;
const SNAP = 128;

export const capturesHref = (id: number) => `/captures/${id}`;

interface Fields {
  seconds: number;
  snap: number;
  filter: string;
}

/** `of`: a path of the drill that names a pair, or a node and its peer. */
export function begin(of: {path: string} | {node: string; peer?: string}, names: string[]): Ask {
  const fields = signal<Fields>({seconds: SECONDS, snap: SNAP, filter: ""});
  const set = (change: Partial<Fields>) => (fields.value = {...fields.value, ...change});
  const body = (why: string): CaptureStart => ({
    ...of, seconds: fields.value.seconds, snap_length: fields.value.snap, ...(fields.value.filter ? {filter: fields.value.filter} : {}), ...(why ? {reason: why} : {}),
  });
  const where = "path" in of ? quote(of.path) : `--node ${of.node}${of.peer ? ` --peer ${of.peer}` : ""}`;
  return {
    title: "Ask for a capture", noun: "place", names, button: "Ask for it", reason: "kept",
    children: (
      <>
        <p>{isSite.value ? "Packets are its tenant's: the capture begins when the tenant consents, or another operator approves it." : "They are your own packets: it begins as soon as the switch mirrors them."}</p>
        <div class="fields">
          <div class="field"><label for="capture-seconds">For how many seconds</label><input id="capture-seconds" type="number" min={1} max={3600} required value={SECONDS} onInput={(event) => set({seconds: Number(event.currentTarget.value)})} /></div>
          <div class="field"><label for="capture-snap">Bytes of each frame that are kept</label><input id="capture-snap" type="number" min={14} max={65535} required value={SNAP} onInput={(event) => set({snap: Number(event.currentTarget.value)})} /></div>
        </div>
        <div class="field"><label for="capture-filter">Only packets that tcpdump would take (may be empty)</label><input id="capture-filter" class="mono" maxLength={512} placeholder="tcp port 443" onInput={(event) => set({filter: event.currentTarget.value.trim()})} /></div>
      </>
    ),
    line: (why) =>
      `haasctl capture start ${where} --seconds ${fields.value.seconds} --snap ${fields.value.snap}${fields.value.filter ? ` --filter ${quote(fields.value.filter)}` : ""}${why ? ` --reason ${quote(why)}` : ""}`,
    act: async (why) => {
      const made = await write("POST /api/v1/captures", {body: body(why), query: {case: workedOn.value}});
      await readCapturesAgain();
      go(capturesHref(made.id));
    },
  };
}

function change(one: Capture, action: "approve" | "stop" | "remove"): Ask["act"] {
  return async () => {
    await write("POST /api/v1/captures/{capture}/actions", {place: {capture: one.id}, body: {action}});
    await readCapturesAgain(one.id);
  };
}

export const nameOf = (one: Capture) => `${one.node}${one.peer ? ` ~ ${one.peer}` : ""}`;

export function approve(one: Capture): Ask {
  return {
    title: isSite.value ? "Approve the capture" : "Consent to the capture", noun: "place", names: [nameOf(one)], button: isSite.value ? "Approve" : "Consent",
    children: <p>{one.requester.replace(/^account /, "")} may then read {one.snap_length} bytes of each frame, for {one.seconds} s, and so may you.</p>,
    line: () => `haasctl capture approve ${one.id}`, act: change(one, "approve"),
  };
}

export function stop(one: Capture): Ask {
  const refuse = one.state === "waiting";
  return {
    title: refuse ? "Refuse the capture" : "Stop the capture", noun: "place", names: [nameOf(one)], button: refuse ? "Refuse" : "Stop",
    children: <p>{refuse ? "It ends before a packet was read. Who asked for it sees that." : "What was captured so far stays."}</p>,
    line: () => `haasctl capture stop ${one.id}`, act: change(one, "stop"),
  };
}

export function remove(one: Capture): Ask {
  return {
    title: "Delete its packets", noun: "capture", names: [`capture ${one.id} of ${nameOf(one)}`], button: "Delete", destructive: true,
    children: <p>Its packets are deleted. What was found in them stays.</p>,
    line: () => `haasctl capture remove ${one.id}`, act: change(one, "remove"),
  };
}

const DAY_MS = 86400000;

/** Of a tenant's admin: whoever the site lets may capture, until then. */
export function grant(): Ask {
  const until = signal(new Date(Date.now() + DAY_MS).toISOString().slice(0, 10));
  const node = signal("");
  return {
    title: "Consent to captures", noun: "tenant", names: [me.value?.tenant ?? ""], button: "Consent",
    children: (
      <>
        <p>The operator may capture your packets until then, without asking you each time. You see every capture, and may end it.</p>
        <div class="fields">
          <div class="field"><label for="grant-until">Until the first second of (UTC)</label><input id="grant-until" type="date" required value={until.value} onInput={(event) => (until.value = event.currentTarget.value)} /></div>
          <div class="field"><label for="grant-node">Of this node only (empty: all of them)</label><input id="grant-node" class="mono" maxLength={63} onInput={(event) => (node.value = event.currentTarget.value.trim())} /></div>
        </div>
      </>
    ),
    line: () => `haasctl capture grant --until ${until.value}T00:00:00Z${node.value ? ` --node ${quote(node.value)}` : ""}`,
    act: async () => {
      await write("POST /api/v1/capture-grants", {body: {expires_at: until.value, ...(node.value ? {node: node.value} : {})}});
      await grants().reload();
    },
  };
}

export function withdraw(id: number, what: string): Ask {
  return {
    title: "Withdraw the consent", noun: "consent", names: [what], button: "Withdraw",
    children: <p>Captures that rest on it end at once.</p>,
    line: () => `haasctl capture withdraw ${id}`,
    act: async () => {
      await write("DELETE /api/v1/capture-grants/{grant}", {place: {grant: id}});
      await grants().reload();
    },
  };
}
