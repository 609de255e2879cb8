// One capture: what it waits for and who may say so, its packets while they come, and what was found in them.
import {useEffect, useLayoutEffect, useRef, useState} from "preact/hooks";
import {read, Refusal} from "../../api/client";
import {useSource} from "../../api/source";
import type {Capture} from "../../api/types";
import {may, me} from "../../app/session";
import {Command} from "../../part/command";
import {useDialog, type Ask} from "../../part/dialog";
import {Mark} from "../../part/mark";
import {Facts, Panel, Why} from "../../part/panel";
import {Head, Numbers, Shown} from "../../part/screen";
import {bytes, left, since, span, when} from "../../part/time";
import {approve, capturesHref, nameOf, remove, stop} from "./actions";
import {Download} from "./download";
import {Found} from "./found";
import {becauseText, shapeOfCapture, waitsFor, wasRefused} from "./shape";
import {capture as captureSource} from "./sources";

const plain = (actor: string | null) => (actor ?? "").replace(/^account /, "");
const LINES = 200;

/** Who may consent: a second person. The database says the same, and why (capture_approve). */
function mayConsent(one: Capture): boolean {
  const who = me.value;
  return one.state === "waiting" && !!who && (who.role === "operator" || who.role === "tenant-admin") && who.actor !== one.requester;
}

/** Who may read packets: who asked, when somebody consented, and who consented. */
export function mayRead(one: Capture): boolean {
  const actor = me.value?.actor;
  return !!one.consent_by && (actor === one.requester || actor === one.consent_by);
}

export function WhyOfCapture({one}: {one: Capture}) {
  const problem = one.problem as {message?: string; detail?: string; hint?: string} | null;
  if (problem?.message) return <Why tone="fail" said={problem} />;
  const waits = waitsFor(one);
  if (waits) {
    return (
      <Why tone="wait" said={{message: `Waits for ${waits}`, detail: one.state === "waiting" ? "Nobody consents to a request of their own. After a day without an answer it ends." : undefined}}>
        , since {since(one.approved_at ?? one.created_at)}
      </Why>
    );
  }
  if (one.state === "ended" && one.because && one.because !== "deadline") return <Why tone={wasRefused(one) ? "fail" : "work"} said={{message: `It ended ${when(one.ended_at)}: ${becauseText(one)}`}} />;
  return null;
}

export function CaptureActions({one, ask}: {one: Capture; ask: (ask: Ask) => void}) {
  if (!may("capture")) return null;
  const waits = one.state === "waiting";
  return (
    <div class="actions">
      {mayConsent(one) && <button type="button" class="button main" onClick={() => ask(approve(one))}>{me.value?.role === "operator" ? "Approve" : "Consent"}</button>}
      {one.state === "ended" && one.files === "kept" && mayRead(one) && <Download one={one} />}
      {one.state !== "ended" && <button type="button" class="button" onClick={() => ask(stop(one))}>{waits && me.value?.actor !== one.requester ? "Refuse" : "Stop"}</button>}
      {one.state === "ended" && one.files === "kept" && <button type="button" class="button danger" onClick={() => ask(remove(one))}>Delete its packets…</button>}
    </div>
  );
}

function factsOf(one: Capture): [string, preact.ComponentChild][] {
  return [
    ["State", <Mark shape={shapeOfCapture(one)}>{one.state}</Mark>],
    ["Tenant", one.tenant],
    ["Between", <span class="mono">{nameOf(one)}{!one.peer && " and everybody"}</span>],
    ["Port", <span class="mono">{[one.switch, one.port].filter(Boolean).join(":")}</span>],
    ["Filter", one.filter ? <span class="mono">{one.filter}</span> : "every packet"],
    ["Keeps", `${one.snap_length} bytes of each frame, ${bytes(one.max_bytes)} at most${one.wrap ? ", the newest" : ""}`],
    ["Asked", `${when(one.created_at)} by ${plain(one.requester)}${one.reason ? `: ${one.reason}` : ""}`],
    ["Consent", one.consent_by ? `${plain(one.consent_by)}, ${one.consent === "approver" ? "a second operator" : one.consent === "grant" ? "the tenant, ahead of time" : "the tenant"}` : "nobody yet"],
    ["Case", one.case ? <a href={`/cases/${one.case}`}>case {one.case}</a> : null],
    ["Ended", one.ended_at && `${when(one.ended_at)}${becauseText(one) ? `: ${becauseText(one)}` : ""}`],
  ];
}

export function Chosen({one, ask}: {one: Capture; ask: (ask: Ask) => void}) {
  return (
    <Panel title={<a href={capturesHref(one.id)}>Capture {one.id}</a>}>
      <WhyOfCapture one={one} />
      <Facts rows={factsOf(one)} />
      <CaptureActions one={one} ask={ask} />
      <a href={capturesHref(one.id)}>{one.state === "ended" ? "What was found in it" : one.state === "running" ? "Its packets as they come" : "Open it"}</a>
    </Panel>
  );
}

/** The newest stay in sight, until somebody scrolls up to read. */
function Lines({lines}: {lines: string[]}) {
  const box = useRef<HTMLPreElement>(null);
  const follows = useRef(true);
  useLayoutEffect(() => {
    if (box.current && follows.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  const look = ({currentTarget: {scrollTop, clientHeight, scrollHeight}}: {currentTarget: HTMLPreElement}) => (follows.current = scrollTop + clientHeight > scrollHeight - 20);
  return <pre ref={box} class="packets mono" tabIndex={0} aria-label="Packets" onScroll={look}>{lines.join("\n")}</pre>;
}

/** A line for each packet as the collector reads it: asked for again and again while it runs. */
function LivePackets({one}: {one: Capture}) {
  const [lines, setLines] = useState<string[]>([]);
  const [refusal, setRefusal] = useState<Refusal>();
  useEffect(() => {
    let after = 0;
    let timer = 0;
    let gone = false;
    const ask = async () => {
      try {
        const answer = await read("/api/v1/captures/{capture}/live", {capture: one.id}, {after});
        if (gone) return;
        after = answer.next;
        setRefusal(undefined);
        if (answer.lines.length) setLines((old) => [...old, ...answer.lines].slice(-LINES));
      } catch (error) {
        if (gone) return;
        setRefusal(error as Refusal);
      }
      timer = window.setTimeout(() => void ask(), 1000);
    };
    void ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [one.id]);
  return (
    <section class="panel" aria-label="Live packets">
      <header><h2>Packets as they come</h2><span class="quiet small">the last {LINES}</span></header>
      {refusal ? <Why tone="wait" said={{message: refusal.problem.title ?? "refused", detail: refusal.problem.detail, hint: refusal.problem.hint}} /> : lines.length === 0 && <p class="quiet">No packet yet.</p>}
      {lines.length > 0 && <Lines lines={lines} />}
      <Command line={`haasctl capture watch ${one.id}`} />
    </section>
  );
}

export function CaptureScreen({id}: {id: number}) {
  const source = captureSource(id);
  const held = useSource(source);
  const [dialog, ask] = useDialog();
  return (
    <div class={`screen ${held.refusal ? "stale" : ""}`}>
      <Head title={`Capture ${id}`} about={<><a href="/captures">Captures</a>{held.value && <> <span class="mono">{nameOf(held.value)}</span></>}</>} held={held} />
      <Shown held={held} what="the capture" again={() => void source.reload()}>
        {(one) => {
          const gone = one.started_at ? Date.parse(one.ended_at ?? new Date().toISOString()) - Date.parse(one.started_at) : 0;
          const rest = left(one.started_at && one.state === "running" ? Math.min(99, (100 * gone) / (one.seconds * 1000)) : null, one.started_at);
          return (
            <>
              <Numbers
                rows={[
                  {value: one.packets, label: "packets"},
                  {value: bytes(one.bytes), label: `on the wire, ${bytes(one.stored_bytes)} kept`},
                  {value: one.started_at ? span(gone) : "–", label: rest === undefined ? `of ${one.seconds} s` : `${span(rest)} left of ${one.seconds} s`},
                  {value: one.dropped, label: "dropped by the collector", tone: "fail"},
                ]}
              />
              <WhyOfCapture one={one} />
              <CaptureActions one={one} ask={ask} />
              <div class="columns">
                <section class="panel" aria-label="Facts"><header><h2>Facts</h2></header><Facts rows={factsOf(one)} /></section>
                {(one.state === "running" || one.state === "listening") && mayRead(one) && <LivePackets one={one} />}
              </div>
              <Found result={one.result ?? {}} ended={one.state === "ended"} />
              <Command line={`haasctl capture show ${id}`} />
            </>
          );
        }}
      </Shown>
      {dialog}
    </div>
  );
}
