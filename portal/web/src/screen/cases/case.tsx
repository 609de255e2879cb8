// One case: its clock, all that was done and found in order, the next step; for its tenant the report that was published to it.
import {useState} from "preact/hooks";
import type {Refusal} from "../../api/client";
import {useSource} from "../../api/source";
import type {CaseDetail, CaseEntry} from "../../api/types";
import {workedOn, workOn} from "../../app/case";
import {isSite, may} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog, type Ask} from "../../part/dialog";
import {Mark} from "../../part/mark";
import {Facts, Why} from "../../part/panel";
import {Head, Numbers, Shown} from "../../part/screen";
import {clock, span, when} from "../../part/time";
import {capturesHref} from "../captures/actions";
import {rate} from "../drill/rate";
import {drillUrl} from "../drill/url";
import {close, note, publish} from "./actions";
import {Clock, clockOf, shapeOfCase, toneOf} from "./cases";
import {oneCase, report as reportSource} from "./sources";

const plain = (actor: string | null) => (actor ?? "").replace(/^account /, "");

interface Looked {
  path?: string;
  from?: string;
  to?: string;
  bits_per_second?: number;
  rows?: {name: string; path: string | null; share: number}[];
  capture?: number;
  alert?: number;
}

/** A question to the drill, as the same reference everywhere: one click shows it again. */
function Looked({detail, text}: {detail: Looked; text: string}) {
  if (detail.path === undefined || !detail.from || !detail.to) return <>{text}</>;
  const seconds = Math.max(1, Math.round((Date.parse(detail.to) - Date.parse(detail.from)) / 1000));
  const url = drillUrl({path: detail.path, at: detail.to, window: seconds % 60 ? `${seconds}s` : `${seconds / 60}m`});
  return (
    <>
      <a class="mono" href={url}>{detail.path || "all links"}</a>
      <span class="quiet"> {clock(detail.from)} to {clock(detail.to)}{detail.bits_per_second !== undefined && `, ${rate(detail.bits_per_second)}`}</span>
      {detail.rows && detail.rows.length > 0 && <span class="quiet small block">most: {detail.rows.map((row) => `${row.name} ${(row.share * 100).toFixed(1)} %`).join(", ")}</span>}
    </>
  );
}

function Entry({entry}: {entry: CaseEntry}) {
  const detail = entry.detail as Looked;
  return (
    <li class={`entry ${entry.kind}`}>
      <time dateTime={entry.at} title={when(entry.at)}>+{span(entry.seconds * 1000)}</time>
      <span class="kind quiet">{entry.kind}</span>
      <span class="grow said">
        <Looked detail={detail} text={entry.text} />
        {detail.capture && <> <a href={capturesHref(detail.capture)}>capture {detail.capture}</a></>}
      </span>
      <span class="quiet small">{plain(entry.actor)}</span>
    </li>
  );
}

/** Findings are told to the tenant; notes stay between operators. */
function Write({id}: {id: number}) {
  const [text, setText] = useState("");
  const [kind, setKind] = useState<"finding" | "note">("finding");
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setRefusal(undefined);
    try {
      await note(id, kind, text.trim());
      setText("");
    } catch (error) {
      setRefusal(error as Refusal);
    }
    setBusy(false);
  };
  return (
    <form class="panel" onSubmit={submit} aria-label="Write into the case">
      <div class="field">
        <label for="entry-text">{kind === "finding" ? "Finding: its tenant reads it" : "Note: operators alone read it"}</label>
        <textarea id="entry-text" rows={3} maxLength={2000} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </div>
      {refusal && <p class="fail small" role="alert">{refusal.problem.title}</p>}
      <div class="bar">
        <div class="choices" role="radiogroup" aria-label="Kind">
          {(["finding", "note"] as const).map((word) => <label key={word} class="check"><input type="radio" name="kind" checked={kind === word} onChange={() => setKind(word)} />{word}</label>)}
        </div>
        <button class="button main" disabled={busy || !text.trim()}>Write it</button>
      </div>
      <Command line={`haasctl case note ${id} ${quote(text.trim() || "...")}${kind === "finding" ? " --finding" : ""}`} />
    </form>
  );
}

function Actions({one, ask}: {one: CaseDetail; ask: (ask: Ask) => void}) {
  if (!may("case")) return null;
  const mine = workedOn.value === one.id;
  return (
    <div class="actions">
      {one.state === "open" && !mine && <button type="button" class="button main" onClick={() => workOn(one.id)}>Work on it</button>}
      {one.state === "open" && mine && <button type="button" class="button" onClick={() => workOn(undefined)}>Leave it</button>}
      {one.state === "open" && <button type="button" class={`button ${mine ? "main" : ""}`} onClick={() => ask(close(one))}>Close…</button>}
      {one.state === "closed" && one.tenant && <button type="button" class="button main" onClick={() => ask(publish(one))}>Publish the report…</button>}
    </div>
  );
}

function Report({id, title}: {id: number; title: string}) {
  const source = reportSource(id);
  const held = useSource(source);
  return (
    <section class="panel" aria-label="Report">
      <header><h2>{title}</h2></header>
      <Shown held={held} what="the report" again={() => void source.reload()}>{(value) => <pre class="report" tabIndex={0}>{value.report}</pre>}</Shown>
      <Command line={`haasctl case report ${id}`} />
    </section>
  );
}

const counted = (one: CaseDetail, kind: CaseEntry["kind"]) => one.entries.filter((entry) => entry.kind === kind).length;

/** What the one who works on it looks at next. */
function Next({one}: {one: CaseDetail}) {
  if (one.state !== "open" || workedOn.value !== one.id) return null;
  return (
    <Why tone="work" said={{message: "What you look at in this tab is written into it."}}>
      {" "}Begin at {one.alert ? <><a href={`/alerts?state=all&at=${one.alert}`}>its alert</a> or </> : null}<a href={drillUrl({path: one.tenant ? `tenant:${one.tenant}` : ""})}>{one.tenant ? `the traffic of ${one.tenant}` : "all links"}</a>.
    </Why>
  );
}

export function CaseScreen({id}: {id: number}) {
  const source = oneCase(id);
  const held = useSource(source);
  const [dialog, ask] = useDialog();
  return (
    <div class={`screen ${held.refusal ? "stale" : ""}`}>
      <Head title={`${isSite.value ? "Case" : "Complaint"} ${id}`} about={<><a href="/cases">{isSite.value ? "Cases" : "Complaints"}</a>{held.value?.tenant && isSite.value ? <> of <b>{held.value.tenant}</b></> : null}</>} held={held} />
      <Shown held={held} what="the case" again={() => void source.reload()}>
        {(one) => (
          <>
            <Numbers
              rows={[
                {value: span(clockOf(one) * 1000), label: one.closed_at ? "until its answer, of 30:00" : "without an answer, of 30:00", tone: one.closed_at ? "ok" : toneOf(clockOf(one))},
                ...(isSite.value ? [{value: counted(one, "query"), label: "looks"}, {value: counted(one, "finding"), label: counted(one, "finding") === 1 ? "finding" : "findings"}] : []),
              ]}
            />
            <p class="said complaint">{one.text}</p>
            <Next one={one} />
            <Actions one={one} ask={ask} />
            {one.answer && <div class="note work"><p><b>Answer</b></p><p class="said">{one.answer}</p></div>}
            {isSite.value ? (
              <div class="body split">
                <div class="stack">
                  <section class="panel flush" aria-label="What was done">
                    <header><h2>What was done and found</h2><span class="quiet small">nothing is taken out again</span></header>
                    <ul class="lines">{one.entries.map((entry, at) => <Entry key={at} entry={entry} />)}</ul>
                  </section>
                  {one.state !== "open" && <Report id={id} title="Report, as operators read it" />}
                </div>
                <div class="stack">
                  <section class="panel" aria-label="Facts">
                    <Facts
                      rows={[
                        ["State", <Mark shape={shapeOfCase(one)}>{one.state}</Mark>],
                        ["Clock", <span class="row"><Clock one={one} /></span>],
                        ["Opened", `${when(one.opened_at)} by ${plain(one.opened_by)}${one.complaint ? ", the tenant itself" : ""}`],
                        ["Alert", one.alert ? <a href={`/alerts?state=all&at=${one.alert}`}>alert {one.alert}</a> : null],
                        ["Answered", one.closed_at && when(one.closed_at)],
                      ]}
                    />
                  </section>
                  {one.state === "open" && may("case") && <Write id={id} />}
                </div>
              </div>
            ) : one.state === "published" ? <Report id={id} title="Report" /> : <p class="quiet">The operators were told {when(one.opened_at)}. Their answer comes here.</p>}
            {(isSite.value || one.state !== "published") && <Command line={`haasctl case ${isSite.value ? "show" : "report"} ${id}`} />}
          </>
        )}
      </Shown>
      {dialog}
    </div>
  );
}

