// Tokens of one's own for programs: made with a scope and an end, told once, ended.
import {useState} from "preact/hooks";
import {Refusal, write} from "../../api/client";
import {useSource} from "../../api/source";
import type {Token} from "../../api/types";
import {Command, quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {Shown} from "../../part/screen";
import {when} from "../../part/time";
import {Told} from "../../part/once";
import {tokens} from "./sources";

const DAY = 86400;
const ENDS: [seconds: number, title: string][] = [[DAY, "1 day"], [30 * DAY, "30 days"], [90 * DAY, "90 days"], [365 * DAY, "a year"]];
const USUAL = ["*:read", "pdci:write", "node:write", "volume:write", "deployment:write"];

function Make() {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState("*:read");
  const [ends, setEnds] = useState(30 * DAY);
  const [made, setMade] = useState<{name: string; token: string}>();
  const [refusal, setRefusal] = useState<Refusal>();
  const words = scopes.split(/\s+/).filter(Boolean);
  const submit = async (event: Event) => {
    event.preventDefault();
    setRefusal(undefined);
    try {
      setMade(await write("POST /api/v1/tokens", {body: {name: name.trim(), scopes: words, expires_s: ends}}));
      setName("");
      void tokens().reload();
    } catch (error) {
      setRefusal(error as Refusal);
    }
  };
  if (made) return <Told title={`Token ${made.name}`} secret={made.token} next={<>A program shows it as <span class="mono">Authorization: Bearer</span>.</>} close={() => setMade(undefined)} />;
  const toggle = (word: string) => setScopes((words.includes(word) ? words.filter((one) => one !== word) : [...words, word]).join(" "));
  return (
    <form class="stack" onSubmit={submit}>
      <div class="fields">
        <div class="field"><label for="token-name">Name</label><input id="token-name" value={name} maxLength={63} required placeholder="ci" autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} /></div>
        <div class="field"><label for="token-scopes">It may, NOUN:read or NOUN:write</label><input id="token-scopes" class="mono" value={scopes} required autocomplete="off" spellcheck={false} onInput={(event) => setScopes(event.currentTarget.value)} /></div>
        <div class="field">
          <label for="token-ends">It ends after</label>
          <select id="token-ends" value={ends} onChange={(event) => setEnds(Number(event.currentTarget.value))}>{ENDS.map(([seconds, title]) => <option key={seconds} value={seconds}>{title}</option>)}</select>
        </div>
      </div>
      <div class="actions">{USUAL.map((word) => <button key={word} type="button" class="button" aria-pressed={words.includes(word)} onClick={() => toggle(word)}><span class="mono">{word}</span></button>)}</div>
      {refusal && <div class="note fail" role="alert"><p><b>{refusal.problem.title}</b></p>{refusal.problem.errors?.map((one) => <p key={one.message}>{one.pointer} {one.message}{one.allowed && `: ${one.allowed}`}</p>)}</div>}
      <div class="actions"><button class="button main" disabled={!name.trim() || words.length === 0}>Make a token</button></div>
      <Command line={`haasctl token create --name ${quote(name || "NAME")} ${words.map((word) => `--scope ${quote(word)}`).join(" ")} --expires ${ends / DAY}d`} />
    </form>
  );
}

function end(one: Token): Ask {
  return {
    title: `End token ${one.name}`, noun: "token", names: [one.name], button: "End it", destructive: true,
    children: <p>Whoever uses it is refused from now on.</p>,
    line: () => `haasctl token end ${one.id}`,
    act: async () => {
      await write("DELETE /api/v1/tokens/{token}", {place: {token: one.id}});
      await tokens().reload();
    },
  };
}

export function Tokens({ask}: {ask: (ask: Ask) => void}) {
  const source = tokens();
  const held = useSource(source);
  return (
    <section class="panel" aria-label="Tokens">
      <header><h2>Tokens for programs</h2></header>
      <Shown held={held} what="tokens" again={() => void source.reload()}>
        {(list) => list.length === 0 ? <p class="quiet">No token is open.</p> : (
          <ul class="lines bare">
            {list.map((one) => (
              <li key={one.id}>
                <span class="grow"><b>{one.name}</b> <span class="mono quiet">{one.scopes.join(" ")}</span><br /><span class="quiet small">until {when(one.expires_at)}, {one.used_at ? `used ${when(one.used_at)}` : "not used yet"}</span></span>
                <button type="button" class="button danger" onClick={() => ask(end(one))}>End…</button>
              </li>
            ))}
          </ul>
        )}
      </Shown>
      <Make />
    </section>
  );
}
