// What the page keeps for a person: the colours, and the columns that are not shown. portald has it (/settings/own), so that it follows the person to another
// browser; this browser has a copy for the first paint, and for who has no account.
import {signal} from "@preact/signals";
import {read, type Refusal, write} from "../api/client";
import type {OwnSettings, OwnSettingsPatch} from "../api/types";
import {scheme, SCHEMES} from "./scheme";

type Hidden = Record<string, string[]>;

/** By table: columns that are not shown. A table that is not there has those that it hides by itself. */
export const hidden = signal<Hidden>({});

const AGAIN_MS = 5000;
const SOON_MS = 200;
/** Where the copy of this browser is; "": nobody is logged in. */
let copy = "";
/** Of what portald has; 0: it is to be read. */
let version = 0;
let pending: OwnSettingsPatch | undefined;
let busy = false;

function show(now: Pick<OwnSettings, "scheme" | "hidden">) {
  hidden.value = {...(now.hidden as Hidden), ...(pending?.hidden as Hidden | undefined)};
  scheme.value = pending?.scheme ?? now.scheme;
  localStorage.setItem(copy, JSON.stringify(hidden.value));
}

/** Reads what portald has, and tells it what is pending. Somebody else may have written meanwhile: then all of it again. */
async function settle() {
  const whose = copy;
  if (busy || version < 0) return;
  busy = true;
  try {
    while (version === 0 || pending) {
      const sent = version > 0 ? pending : undefined;
      if (sent) pending = undefined;
      try {
        const now = sent ? await write("PATCH /api/v1/settings/own", {body: sent, version}) : await read("/api/v1/settings/own");
        if (whose !== copy) break;
        version = now.version;
        show(now);
      } catch (error) {
        if (whose !== copy) break;
        if (sent) pending = {...sent, ...pending, hidden: {...sent.hidden, ...pending?.hidden}};
        throw error;
      }
    }
  } catch (error) {
    const {status} = error as Refusal;
    if (status === 412) version = 0;
    else if (status >= 400 && status < 500) pending = undefined; // kept by this browser alone
    if (version === 0 || pending) setTimeout(() => void settle(), status === 412 ? SOON_MS : AGAIN_MS);
  }
  busy = false;
  if (whose !== copy) void settle();
}

/** Of who is logged in now. One without an account has only this browser's copy. */
export function startOwn(account: string | undefined, actor: string) {
  copy = `own ${account ?? actor}`;
  version = account ? 0 : -1;
  pending = undefined;
  try {
    hidden.value = (JSON.parse(localStorage.getItem(copy) ?? "{}") ?? {}) as Hidden;
  } catch {
    hidden.value = {};
  }
  void settle();
}

export function keepOwn(more: OwnSettingsPatch) {
  pending = {...pending, ...more, hidden: {...pending?.hidden, ...more.hidden}};
  show({scheme: scheme.value, hidden: hidden.value});
  if (version < 0) pending = undefined;
  void settle();
}

export function nextScheme() {
  keepOwn({scheme: SCHEMES[(SCHEMES.indexOf(scheme.value) + 1) % SCHEMES.length] ?? "machine"});
}
