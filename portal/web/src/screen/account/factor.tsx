// The second factor: its secret as a QR code, the first code of it, recovery codes, and the end of it.
import {useState} from "preact/hooks";
import {Refusal, write} from "../../api/client";
import type {Account, SecondFactorSecret} from "../../api/types";
import {whoami} from "../../app/session";
import {Command} from "../../part/command";
import {Mark} from "../../part/mark";
import {Told} from "../../part/once";
import {Qr} from "./qr";
import {account} from "./sources";

function Said({refusal}: {refusal: Refusal | undefined}) {
  if (!refusal) return null;
  return <div class="note fail" role="alert"><p><b>{refusal.problem.title}</b></p>{refusal.problem.hint && <p>{refusal.problem.hint}</p>}</div>;
}

interface InputProps {
  id: string;
  label: string;
  value: string;
  set: (value: string) => void;
  password?: boolean;
}

function Input({id, label, value, set, password}: InputProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id} type={password ? "password" : "text"} autocomplete={password ? "current-password" : "one-time-code"} inputMode={password ? undefined : "numeric"} value={value} required
        onInput={(event) => set(event.currentTarget.value)}
      />
    </div>
  );
}

function useAsk(): [busy: boolean, refusal: Refusal | undefined, run: (fn: () => Promise<void>) => Promise<void>] {
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const run = async (fn: () => Promise<void>) => {
    setBusy(true);
    setRefusal(undefined);
    await fn().catch((error) => setRefusal(error as Refusal));
    setBusy(false);
  };
  return [busy, refusal, run];
}

function Begin({begun}: {begun: (secret: SecondFactorSecret) => void}) {
  const [password, setPassword] = useState("");
  const [busy, refusal, run] = useAsk();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => begun(await write("POST /api/v1/second-factor", {body: {password}})));
  };
  return (
    <form class="stack" onSubmit={submit}>
      <p>Logins then want a code of an authenticator beside the password.</p>
      <Input id="factor-password" label="Password" value={password} set={setPassword} password />
      <Said refusal={refusal} />
      <div class="actions"><button class="button main" disabled={busy || !password}>Set it up</button></div>
    </form>
  );
}

function Confirm({secret, done, back}: {secret: SecondFactorSecret; done: (codes: string[]) => void; back: () => void}) {
  const [code, setCode] = useState("");
  const [busy, refusal, run] = useAsk();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => done((await write("POST /api/v1/second-factor/confirm", {body: {code: code.trim()}})).recovery_codes));
  };
  return (
    <form class="stack" onSubmit={submit}>
      <p>Read it with an authenticator, or type the secret there. Then the code that it shows.</p>
      <Qr text={secret.uri} label="QR code of the secret" />
      <p class="mono secret">{secret.secret}</p>
      <Input id="factor-code" label="Code of six digits" value={code} set={setCode} />
      <Said refusal={refusal} />
      <div class="actions">
        <button class="button main" disabled={busy || !/^\s*\d{6}\s*$/.test(code)}>Use it from now on</button>
        <button type="button" class="button" onClick={back}>Not now</button>
      </div>
    </form>
  );
}

function Disable({done}: {done: () => void}) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [busy, refusal, run] = useAsk();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await write("POST /api/v1/second-factor/disable", {body: {password, code: code.trim()}});
      done();
    });
  };
  return (
    <form class="stack" onSubmit={submit}>
      <p><Mark shape="ok">Logins want a code.</Mark> Without it a password alone logs in. Other sessions of the account end.</p>
      <div class="fields">
        <Input id="factor-password" label="Password" value={password} set={setPassword} password />
        <Input id="factor-code" label="Code, or a recovery code" value={code} set={setCode} />
      </div>
      <Said refusal={refusal} />
      <div class="actions"><button class="button danger" disabled={busy || !password || !code}>Use none any more</button></div>
    </form>
  );
}

export function Factor({of}: {of: Account}) {
  const [secret, setSecret] = useState<SecondFactorSecret>();
  const [codes, setCodes] = useState<string[]>();
  const again = () => {
    void account().reload();
    void whoami();
  };
  const confirmed = (made: string[]) => {
    setSecret(undefined);
    setCodes(made);
    again();
  };
  return (
    <section class="panel" aria-label="Second factor">
      <header><h2>Second factor</h2></header>
      {codes && <Told title="Recovery codes, each good once" secret={codes.join("\n")} close={() => setCodes(undefined)} />}
      {of.second_factor ? <Disable done={again} /> : secret ? <Confirm secret={secret} done={confirmed} back={() => setSecret(undefined)} /> : <Begin begun={setSecret} />}
      <Command line={of.second_factor ? "haasctl totp disable" : "haasctl totp enable"} />
    </section>
  );
}
