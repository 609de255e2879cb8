// Log in by password, and by a code where the account has a second factor, or by a provider; take an account by a one-time link.
import type {ComponentChildren} from "preact";
import {useEffect, useRef, useState} from "preact/hooks";
import {Refusal, write} from "../../api/client";
import {back} from "../../app/provider";
import {go, place} from "../../app/route";
import {logIn, me} from "../../app/session";
import {Providers} from "./providers";

function Said({refusal}: {refusal: Refusal | undefined}) {
  if (!refusal) return null;
  const {title, detail, hint} = refusal.problem;
  return (
    <div class="note fail" role="alert">
      <p><b>{title}</b></p>
      {detail && <p>{detail}</p>}
      {refusal.retryAfter > 0 && <p>Try again in {refusal.retryAfter} s.</p>}
      {hint && refusal.retryAfter === 0 && <p>{hint}</p>}
    </div>
  );
}

interface DoorProps {
  title: string;
  children: ComponentChildren;
  /** After the button. */
  more?: ComponentChildren;
  submit: () => Promise<void>;
  busy: boolean;
  button: string;
}

function Door({title, children, more, submit, busy, button}: DoorProps) {
  useEffect(() => {
    document.title = `${title} - HaaS`;
  }, [title]);
  return (
    <main class="door">
      <form onSubmit={(event) => (event.preventDefault(), void submit())}>
        <h1>{title}</h1>
        {children}
        <button class="button main" disabled={busy}>{busy ? "Asked" : button}</button>
        {more}
      </form>
    </main>
  );
}

/** What came back from a provider is told once, here. */
function useBack(refuse: (refusal: Refusal) => void, setLink?: (link: string) => void) {
  const came = back.value;
  useEffect(() => {
    if (!came) return;
    refuse(came.refusal);
    if (came.link) setLink?.(came.link);
    back.value = undefined;
  }, [came]);
}

export function Login() {
  const [account, setAccount] = useState(place.value.query.get("account") ?? "");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [wantsCode, setWantsCode] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), [wantsCode]);
  useBack(setRefusal);

  const submit = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      await logIn(account.trim(), password, wantsCode ? code.trim() : undefined);
      if (place.value.path === "/login" || place.value.path === "/link") go("/", true);
    } catch (error) {
      const no = error as Refusal;
      if (no.status === 428) setWantsCode(true);
      else setRefusal(no);
    }
    setBusy(false);
  };
  return (
    <Door title="Log in" submit={submit} busy={busy} button="Log in" more={<Providers says={(name) => `Log in by ${name}`} link={() => ""} refuse={setRefusal} />}>
      <div class="field">
        <label for="account">Account</label>
        <input id="account" autocomplete="username" autocapitalize="off" spellcheck={false} required ref={wantsCode ? undefined : field} value={account} onInput={(event) => setAccount(event.currentTarget.value)} />
      </div>
      <div class="field">
        <label for="password">Password</label>
        <input id="password" type="password" autocomplete="current-password" required value={password} onInput={(event) => setPassword(event.currentTarget.value)} />
      </div>
      {wantsCode && (
        <div class="field">
          <label for="code">Code of the authenticator, or a recovery code</label>
          <input id="code" autocomplete="one-time-code" minLength={6} maxLength={32} required ref={field} value={code} onInput={(event) => setCode(event.currentTarget.value)} />
        </div>
      )}
      <Said refusal={refusal} />
      <p class="small quiet">An account of a tenant has its name before it: globex/ann. A forgotten password: ask for a new link.</p>
    </Door>
  );
}

/** The link stands behind #, so that it reaches no log of a server. */
export function Link() {
  const [link, setLink] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const here = place.value;
  useEffect(() => {
    if (location.hash.length < 2) return;
    setLink(location.hash.slice(1)); // another link may be opened in this tab
    setRefusal(undefined);
  }, [here]);
  useBack(setRefusal, setLink);
  const submit = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      const used = await write("POST /api/v1/links/use", {body: {link: link.trim(), password}});
      go(`/login?account=${encodeURIComponent(used.account)}`, true);
    } catch (error) {
      setRefusal(error as Refusal);
      setBusy(false);
    }
  };
  return (
    <Door
      title="Choose a password" submit={submit} busy={busy} button="Choose it"
      more={<Providers says={(name) => `Log in by ${name} instead`} link={() => (field.current?.reportValidity() ? link.trim() : undefined)} refuse={setRefusal} about="The account has no password then: it logs in by the provider alone." />}
    >
      <div class="field">
        <label for="link">One-time link</label>
        <input id="link" class="mono" required spellcheck={false} autocomplete="off" ref={field} value={link} onInput={(event) => setLink(event.currentTarget.value)} />
      </div>
      <div class="field">
        <label for="password">New password, 10 characters or more</label>
        <input id="password" type="password" autocomplete="new-password" minLength={10} required value={password} onInput={(event) => setPassword(event.currentTarget.value)} />
      </div>
      <Said refusal={refusal} />
      <p class="small quiet">All sessions and tokens of the account end.</p>
    </Door>
  );
}

/** A login by a provider came to nothing, and who was logged in still is. */
export function Unchanged() {
  const who = me.value?.account ?? me.value?.actor;
  return (
    <Door title="Nothing has changed" submit={async () => void (back.value = undefined)} busy={false} button={`Go on as ${who}`}>
      <Said refusal={back.value?.refusal} />
    </Door>
  );
}
