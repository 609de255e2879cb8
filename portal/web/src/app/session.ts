// Who is logged in, and what the role may do. The cookie is the browser's; the page never sees it.
import {computed, signal} from "@preact/signals";
import {onEnded, positionNow, read, Refusal, useToken, write} from "../api/client";
import {forgetSources} from "../api/source";
import {startStream, stopStream} from "../api/stream";
import type {AccountRole, LoggedIn, Whoami} from "../api/types";
import {startOwn} from "./own";

/** undefined: not known yet; null: nobody. */
export const me = signal<Whoami | null | undefined>(undefined);
export const refusal = signal<Refusal | undefined>(undefined);

/** Why a logout did not end the session. */
export const stays = signal<Refusal | undefined>(undefined);

const AGAIN_MS = 3000;
const SITE: AccountRole[] = ["operator", "on-call", "auditor"];

export const isSite = computed(() => !!me.value && SITE.includes(me.value.role));

/** What the page lets a role press: the same rows as x-haas-roles of the operation. */
const MAY: Record<string, AccountRole[]> = {
  power: ["operator", "on-call", "tenant-admin", "tenant-member"],
  node_state: ["operator"],
  label: ["operator"],
  grant: ["operator"],
  deployment: ["operator", "on-call", "tenant-admin", "tenant-member"],
  volume: ["operator", "tenant-admin", "tenant-member"],
  storage: ["operator"],
  pdci: ["operator", "tenant-admin", "tenant-member"],
  alert: ["operator", "on-call"],
  capture: ["operator", "on-call", "tenant-admin", "tenant-member"],
  case: ["operator", "on-call"],
  complaint: ["operator", "on-call", "tenant-admin", "tenant-member"],
  tenant: ["operator"],
  account: ["operator", "tenant-admin"],
  webhook: ["operator", "tenant-admin"],
  setting: ["operator"],
  rotation: ["operator"],
  console: ["operator", "on-call", "tenant-admin", "tenant-member"],
  console_input: ["operator", "on-call", "tenant-admin", "tenant-member"],
  switch_read: ["operator", "on-call"],
  switch_reconcile: ["operator"],
  switch_edit: ["operator"],
  point: ["operator"],
  wiring: ["operator"],
  address: ["operator"],
  circuit: ["operator"],
};

export function may(what: keyof typeof MAY): boolean {
  return !!me.value && (MAY[what] ?? []).includes(me.value.role);
}

export async function whoami() {
  try {
    const who = await read("/api/v1/whoami");
    useToken(who.csrf ?? "");
    refusal.value = undefined;
    me.value = who;
    startStream(who.account ?? who.actor, positionNow());
    startOwn(who.account, who.actor);
  } catch (error) {
    const no = error as Refusal;
    if (no.status === 401) {
      me.value = null;
      return;
    }
    // A database or portald that is away comes back; a login stays good meanwhile.
    refusal.value = no;
    setTimeout(() => me.value === undefined && void whoami(), AGAIN_MS);
  }
}

async function loggedIn(answer: LoggedIn) {
  useToken(answer.csrf ?? "");
  refusal.value = undefined;
  await whoami();
}

export async function logIn(account: string, password: string, code?: string) {
  await loggedIn(await write("POST /api/v1/login", {body: {account, password, cookie: true, ...(code ? {code} : {})}}));
}

/** By a provider: the code that this tab brought home, and the verifier that it kept. */
export async function logInByCode(code: string, verifier: string, link?: string) {
  // index.html asked who it is before this login. Its answer is taken here, or the browser would give it to whoami().
  await fetch("/api/v1/whoami", {credentials: "same-origin"}).catch(() => undefined);
  await loggedIn(await write("POST /api/v1/login/code", {body: {code, verifier, cookie: true, ...(link ? {link} : {})}}));
}

/** The session stays until the server has ended it: a logout that failed leaves the cookie good. */
export async function logOut() {
  try {
    await write("POST /api/v1/logout");
  } catch (error) {
    const no = error as Refusal;
    if (no.status !== 401) {
      stays.value = no;
      return;
    }
  }
  over();
}

function over() {
  stays.value = undefined;
  if (me.value === null) return;
  stopStream();
  forgetSources();
  useToken("");
  me.value = null;
}

onEnded(over);
