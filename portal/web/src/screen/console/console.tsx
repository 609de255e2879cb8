// The serial console of a node: what it says now, what it said before, who else is on it, and why it ended.
import {useEffect, useRef, useState} from "preact/hooks";
import {write} from "../../api/client";
import {useSource} from "../../api/source";
import {node as nodeSource} from "../../api/sources";
import {may, me} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog, type Ask} from "../../part/dialog";
import {Mark} from "../../part/mark";
import {Empty, Head, Shown} from "../../part/screen";
import {clock, since, when} from "../../part/time";
import {Line, type State} from "./line";
import {consoleLog, consoleReaders} from "./sources";
import {openTerminal, type Screen} from "./terminal";

const SHAPES = {opening: "work", open: "ok", broken: "wait", ended: "fail"} as const;
const WORDS = {opening: "opening", open: "open", broken: "broken, it is tried again", ended: "closed"};

function Word({state}: {state: State}) {
  return (
    <div class={`note ${state.state === "ended" ? "fail" : state.state === "broken" ? "wait" : ""}`} role="status">
      <p><Mark shape={SHAPES[state.state]}>{WORDS[state.state]}, {clock(state.at)}</Mark></p>
      {state.why?.title && <p><b>{state.why.title}</b></p>}
      {state.why?.detail && <p>{state.why.detail}</p>}
      {state.why?.hint && <p>{state.why.hint}</p>}
    </div>
  );
}

function Readers({name}: {name: string}) {
  const source = consoleReaders(name);
  const held = useSource(source);
  const own = me.value?.actor;
  return (
    <section class="panel flush" aria-label="Who is on it">
      <header><h2>Who is on it</h2></header>
      <Shown held={held} what="who is on it" again={() => void source.reload()}>
        {(readers) =>
          readers.length === 0 ? <p class="quiet small inset">Nobody has it open.</p> : (
            <ul class="lines">
              {readers.map((one) => (
                <li key={one.id}>
                  <span class="grow">{one.actor.replace(/^account /, "")}{one.actor === own && <span class="quiet"> (you)</span>}</span>
                  <span class="quiet small">{one.typed ? `types, ${since(one.typed)} ago` : "looks"}, since {when(one.since)}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
    </section>
  );
}

const HEARD = {connected: "connected", lost: "lost", closed: "closed"} as const;
const SHOWN = 8;

/** When its line was up: from the stored log, which a dead node has too. */
function Heard({name, at}: {name: string; at: number}) {
  const source = consoleLog(name);
  const held = useSource(source);
  return (
    <section class="panel flush" aria-label="Its line">
      <header><h2>Its line</h2><span class="quiet small">newest first</span></header>
      <Shown held={held} what="its log" again={() => void source.reload()}>
        {(log) => {
          const rows = log.items.filter((one) => one.kind !== "output").reverse().slice(0, SHOWN);
          const last = log.items.filter((one) => one.kind === "output").at(-1);
          return (
            <ul class="lines">
              <li>
                <span class="grow">{at || last ? "last heard" : "nothing is kept of it"}</span>
                {at > 0 ? <span class="quiet small">{clock(at)}</span> : last && <time class="quiet small" dateTime={last.at}>{when(last.at)}</time>}
              </li>
              {rows.map((one) => (
                <li key={one.at + one.kind}>
                  <span class="grow">{HEARD[one.kind as keyof typeof HEARD]}{one.reason && <span class="quiet">: {one.reason}</span>}</span>
                  <time class="quiet small" dateTime={one.at}>{when(one.at)}</time>
                </li>
              ))}
            </ul>
          );
        }}
      </Shown>
    </section>
  );
}

function reopenOf(name: string): Ask {
  return {
    title: "Begin the session anew", names: [name], noun: "node", button: "Begin anew", line: () => `haasctl node console ${quote(name)} --reopen`,
    children: <p>Ends the session with the BMC for everybody who is on it, and begins another. For a BMC that went mute while its session stays up.</p>,
    act: async () => void (await write("POST /api/v1/nodes/{node}/console/reopen", {place: {node: name}})),
  };
}

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

export function ConsoleScreen({name}: {name: string}) {
  const node = useSource(nodeSource(name));
  const box = useRef<HTMLDivElement>(null);
  const row = useRef<HTMLDivElement>(null);
  const [line, setLine] = useState<Line>();
  const [screen, setScreen] = useState<Screen>();
  const [turn, again] = useState(0);
  const [looks, setLooks] = useState(!may("console_input"));
  const [dialog, ask] = useDialog();
  const log = consoleLog(name);

  useEffect(() => {
    if (!box.current || !may("console")) return;
    let opened = false;
    if (turn > 0) void log.reload();
    let own: Line | undefined;
    const screen = openTerminal(box.current, (text) => own?.type(text), () => row.current?.querySelector("button")?.focus());
    own = new Line(name, {
      opened: () => {
        opened = true;
        screen.begin();
      },
      bytes: (bytes) => screen.say(bytes),
    });
    setLine(own);
    setScreen(screen);
    // What was said before stands there until the line is open, and where it cannot be opened.
    const stop = log.held.subscribe(({value}) => {
      if (!value || opened) return;
      screen.begin();
      for (const item of value.items) if (item.bytes) screen.say(bytesOf(item.bytes));
    });
    return () => {
      stop();
      setScreen(undefined);
      own?.close();
      screen.end();
    };
  }, [name, turn]);
  useEffect(() => screen?.look(looks), [screen, looks]);

  const state = line?.state.value;
  const refused = line?.refusal.value;
  return (
    <div class="screen">
      <Head title={`Console of ${name}`} about={<a href={`/nodes/${encodeURIComponent(name)}`}>{name}</a>} held={node} />
      {!may("console") ? <Empty title="Your role does not read consoles"><p>An auditor reads all but packets and consoles.</p></Empty> : (
        <>
          <div class="body split">
            <div class="stack">
              <div class={`screen-box ${state && state.state !== "open" ? "off" : ""}`} ref={box} role="group" aria-label={`Terminal of ${name}`} />
              {refused && <div class="note fail" role="alert"><p><b>What was typed was not taken:</b> {refused.problem.title}</p>{refused.problem.hint && <p>{refused.problem.hint}</p>}</div>}
              <p class="quiet small">80 by 24, the last 64 KiB and what comes. {looks ? "You only look: nothing is typed." : "What you press goes to the node; Ctrl+] leaves it."}</p>
            </div>
            <aside class="stack" aria-label="About the console">
              {state && <Word state={state} />}
              <div class="console-row" ref={row}>
                {state?.state === "ended" && <button type="button" class="button main" onClick={() => again(turn + 1)}>Open again</button>}
                {may("console_input") && <button type="button" class="button" aria-pressed={looks} onClick={() => setLooks(!looks)}>{looks ? "Type too" : "Only look"}</button>}
                <button type="button" class="button" onClick={() => ask(reopenOf(name))}>Begin anew…</button>
              </div>
              <Readers name={name} />
              <Heard name={name} at={line?.heard.value ?? 0} />
            </aside>
          </div>
          <Command line={`haasctl node console ${quote(name)}${looks ? " --read-only" : ""}`} />
        </>
      )}
      {dialog}
    </div>
  );
}
