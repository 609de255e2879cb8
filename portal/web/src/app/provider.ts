// A login by a provider of OpenID Connect: this tab goes there with a verifier (PKCE) that it keeps, and comes back to /#code=. A code without that verifier is
// another person's.
import {signal} from "@preact/signals";
import {pathOf, Refusal} from "../api/client";
import {go} from "./route";
import {logInByCode, me, whoami} from "./session";

/** What this tab keeps while it is at the provider. */
interface Begun {
  verifier: string;
  /** The screen that it left. */
  at: string;
  /** A one-time link that is taken by this login. */
  link?: string;
}

/** What came back does not log in. `link` is still good. */
export interface Back {
  refusal: Refusal;
  link?: string | undefined;
}

const KEPT = "haas-login";

export const back = signal<Back | undefined>(undefined);

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}

/** portald says first whether it would send us there: its refusal is shown here, not by the browser. */
export async function goToProvider(provider: string, link?: string) {
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const challenge = base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
  const url = pathOf("/api/v1/login/oidc/{provider}", {provider}, {challenge});
  const begun: Begun = {verifier, at: location.pathname + location.search, ...(link ? {link} : {})};
  const answer = await fetch(url, {redirect: "manual"}).catch(() => undefined);
  if (answer?.type !== "opaqueredirect") throw await Refusal.of(answer);
  sessionStorage.setItem(KEPT, JSON.stringify(begun));
  location.assign(url);
}

/** Once: what is taken is gone from the tab. */
function takeBegun(): Begun | undefined {
  try {
    const text = sessionStorage.getItem(KEPT);
    sessionStorage.removeItem(KEPT);
    return text ? (JSON.parse(text) as Begun) : undefined;
  } catch {
    return undefined;
  }
}

async function finish(words: URLSearchParams) {
  const begun = takeBegun();
  const code = words.get("code");
  try {
    // First of all: the words of a login that nobody began here are a stranger's, the error too.
    if (!begun) throw new Refusal(403, {title: "this tab began no login", hint: "begin it here, and let the same tab finish it"});
    if (!begun.link) go(begun.at, true);
    if (!code) throw new Refusal(403, {title: words.get("error") || "the provider sent no code", hint: words.get("hint") ?? ""});
    await logInByCode(code, begun.verifier, begun.link);
  } catch (error) {
    back.value = {refusal: error as Refusal, link: begun?.link};
    if (begun?.link) go("/link", true);
    if (me.peek() === undefined) await whoami();
  }
}

/** True: this address is a provider's answer. It leaves the address and the history at once. */
export function comeBack(): boolean {
  const words = new URLSearchParams(location.hash.slice(1));
  if (location.pathname !== "/" || !(words.has("code") || words.has("error"))) return false;
  history.replaceState(null, "", location.pathname + location.search);
  void finish(words);
  return true;
}
