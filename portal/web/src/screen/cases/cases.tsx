// Cases: complaints, each with its clock. An answer within 30 minutes is what the site promises itself.
import {useMemo} from "preact/hooks";
import {useSource} from "../../api/source";
import type {Case} from "../../api/types";
import {workedOn} from "../../app/case";
import {query} from "../../app/route";
import {isSite, may} from "../../app/session";
import {useDialog} from "../../part/dialog";
import {ListScreen, OpenOrAll} from "../../part/list";
import {Mark, type Shape} from "../../part/mark";
import {Facts, Panel} from "../../part/panel";
import {Empty} from "../../part/screen";
import type {Column} from "../../part/table";
import {now, span, when} from "../../part/time";
import {caseHref, complain, openCase} from "./actions";
import {cases} from "./sources";

const PROMISE_S = 30 * 60;
const SOON_S = 20 * 60;

export const clockOf = (one: Case): number => (one.closed_at ? one.seconds : Math.max(one.seconds, Math.round((now.value - Date.parse(one.opened_at)) / 1000)));

export function toneOf(seconds: number): "work" | "wait" | "fail" {
  return seconds >= PROMISE_S ? "fail" : seconds >= SOON_S ? "wait" : "work";
}

export function shapeOfCase(one: Case): Shape {
  if (one.state !== "open") return "ok";
  return toneOf(clockOf(one)) === "work" ? "work" : toneOf(clockOf(one));
}

/** The clock of 30 minutes: a bar, the time, and what is promised. */
export function Clock({one}: {one: Case}) {
  const seconds = clockOf(one);
  const tone = one.closed_at ? "ok" : toneOf(seconds);
  return (
    <>
      <span class={`share ${tone === "work" ? "" : tone}`} aria-hidden="true"><i style={{width: `${Math.min(100, (100 * seconds) / PROMISE_S)}%`}} /></span>
      <span class="tight">{span(seconds * 1000)}<span class="quiet"> of 30:00</span></span>
    </>
  );
}

const plain = (actor: string | null) => (actor ?? "").replace(/^account /, "");

const COLUMNS: Column<Case>[] = [
  {name: "id", title: "Case", value: (row) => row.id, cell: (row) => <a class="mono" href={caseHref(row.id)}>{row.id}</a>, width: "66px", number: true},
  {name: "state", title: "State", value: (row) => row.state, cell: (row) => <Mark shape={shapeOfCase(row)}>{row.state}</Mark>, width: "104px", narrow: "state"},
  {name: "clock", title: "Clock", value: clockOf, cell: (row) => <Clock one={row} />, width: "minmax(150px, 0.9fr)"},
  {name: "tenant", title: "Tenant", value: (row) => row.tenant, width: "minmax(80px, 0.6fr)", narrow: "sub"},
  {name: "text", title: "Complaint", value: (row) => row.text, width: "minmax(180px, 2.4fr)", narrow: "title"},
  {name: "by", title: "Opened by", wide: true, value: (row) => (row.complaint ? `${plain(row.opened_by)}, the tenant` : plain(row.opened_by)), width: "minmax(110px, 0.8fr)", narrow: "sub"},
  {name: "opened", title: "Opened", wide: true, value: (row) => row.opened_at, cell: (row) => <span>{when(row.opened_at)}</span>, width: "104px", number: true},
];

function Chosen({one}: {one: Case}) {
  return (
    <Panel title={<a href={caseHref(one.id)}>Case {one.id}</a>}>
      <p class="said">{one.text}</p>
      <Facts
        rows={[
          ["State", <Mark shape={shapeOfCase(one)}>{one.state}</Mark>],
          ["Tenant", one.tenant],
          ["Opened", `${when(one.opened_at)}${one.opened_by ? ` by ${plain(one.opened_by)}` : ""}`],
          ["Alert", one.alert ? <a href={`/alerts?state=all&at=${one.alert}`}>alert {one.alert}</a> : null],
          ["Answered", one.closed_at && `${when(one.closed_at)}, after ${span(one.seconds * 1000)}`],
          ["Answer", one.answer && <span class="said">{one.answer}</span>],
        ]}
      />
      <div class="actions"><a class="button main" href={caseHref(one.id)}>Open it</a></div>
    </Panel>
  );
}

export function Cases() {
  const all = query.value.get("all") === "yes";
  const source = cases(all);
  const held = useSource(source);
  const [dialog, ask] = useDialog();
  const list = useMemo(() => [...(held.value ?? [])].sort((a, b) => Number(a.state !== "open") - Number(b.state !== "open") || (a.state === "open" ? a.id - b.id : b.id - a.id)), [held.value]);
  const begin = isSite.value ? openCase({}) : complain();
  const mayBegin = isSite.value ? may("case") : may("complaint");
  const open = (rows: Case[]) => rows.filter((one) => one.state === "open");
  return (
    <>
      <ListScreen
        title={isSite.value ? "Cases" : "Complaints"} what="cases" table="cases" filter={isSite.value ? "open acme" : "slow"} about="each with its clock, until it is answered" held={{...held, value: held.value && list}}
        again={() => void source.reload()} columns={COLUMNS} keyOf={(row) => String(row.id)} hrefOf={(row) => caseHref(row.id)}
        numbers={(rows) => [
          {value: open(rows).length, label: "wait for an answer", tone: "wait"},
          {value: open(rows).filter((one) => clockOf(one) >= PROMISE_S).length, label: "longer than 30 minutes", tone: "fail"},
          {value: open(rows).length ? span(Math.max(...open(rows).map(clockOf)) * 1000) : "–", label: "the oldest waits"},
          ...(workedOn.value && isSite.value ? [{value: `case ${workedOn.value}`, label: "you work on", href: caseHref(workedOn.value)}] : []),
        ]}
        bar={<OpenOrAll label="Which cases" open="Open" all={all} />}
        actions={mayBegin && <button type="button" class="button main" onClick={() => ask(begin)}>{isSite.value ? "Open case…" : "Complain…"}</button>}
        panel={(row) => <Chosen one={row} />}
        none={<Empty title={all ? "No case yet" : isSite.value ? "Nobody waits for an answer" : "You wait for no answer"}>{!isSite.value && <p>Is something slow or broken? Complain, and a clock runs until it is answered.</p>}</Empty>}
        line={`haasctl case list${all ? " --all" : ""}`}
      />
      {dialog}
    </>
  );
}
