// Alerts: what a person has to look at now. On-call engineers land here.
import {useMemo} from "preact/hooks";
import {read} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import {alerts} from "../../api/sources";
import type {Alert, AlertDetail} from "../../api/types";
import {workedOn} from "../../app/case";
import {query, withWords} from "../../app/route";
import {isSite, may} from "../../app/session";
import {subjectHref} from "../../app/subject";
import {Command} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {Mark, shapeOf} from "../../part/mark";
import {Facts, Panel, Why} from "../../part/panel";
import {Empty, Head, Numbers, Shown} from "../../part/screen";
import {Table, useColumns, useShownRows, type Column} from "../../part/table";
import {clock, since, when} from "../../part/time";
import {complain, openCase} from "../cases/actions";
import {alertAt, Suspects} from "../drill/suspects";
import {drillUrl} from "../drill/url";
import {acknowledge, silence} from "./actions";
import {Silences} from "./silences";

type Which = "open" | "silenced" | "all";

export function isKnown(alert: Alert): string | null {
  if (alert.cleared_at) return `ended ${when(alert.cleared_at)}`;
  if (alert.silenced_until) return `silenced until ${when(alert.silenced_until)}`;
  return alert.acknowledged_by ? `taken by ${alert.acknowledged_by.replace(/^account /, "")}` : null;
}

const RANK = {critical: 0, warning: 1, info: 2};

const COLUMNS: Column<Alert>[] = [
  {name: "severity", title: "Severity", value: (row) => row.severity, cell: (row) => <Mark shape={shapeOf.severity(row.severity)}>{row.severity}</Mark>, width: "104px", narrow: "state"},
  {name: "message", title: "What", value: (row) => row.message, width: "minmax(220px, 3fr)", narrow: "title"},
  {name: "subject", title: "Subject", value: (row) => row.subject, cell: (row) => <span class="mono">{row.subject}</span>, width: "minmax(110px, 1fr)", narrow: "sub"},
  {name: "kind", title: "Kind", value: (row) => row.kind, width: "minmax(120px, 1fr)", mono: true, extra: true},
  {name: "tenant", title: "Tenant", value: (row) => row.tenant, width: "90px", extra: true},
  {name: "since", title: "Since", value: (row) => row.raised_at, cell: (row) => <span title={when(row.raised_at)}>{since(row.raised_at)}</span>, width: "96px", number: true},
  {name: "known", title: "Known", wide: true, value: isKnown, width: "minmax(130px, 1fr)", narrow: "sub"},
];

/** The case that the tab works on is told of the first look, not of what the page reads again by itself. */
const detail = (id: number) =>
  sourceOf(`alert ${id} ${workedOn.peek() ?? ""}`, () => {
    let asked = workedOn.peek();
    return {
      load: () => {
        const number = asked;
        asked = undefined;
        return read("/api/v1/alerts/{alert}", {alert: id}, {case: number});
      },
      touches: (event) => event.kind.startsWith("alert."),
      every: () => 15000,
    };
  });

/** Where its traffic is seen: the 5 minutes around its second, or now. */
function DrillThere({alert}: {alert: AlertDetail}) {
  if (!alert.drill) return null;
  const at = alertAt(alert);
  return <a class="button main" href={drillUrl({path: alert.drill, at, window: "5m"})}>{at ? `Drill at ${clock(alert.raised_at)}` : "Drill now"}</a>;
}

function Chosen({id, ask}: {id: number; ask: ReturnType<typeof useDialog>[1]}) {
  const source = detail(id);
  const held = useSource(source);
  return (
    <Panel title={`Alert ${id}`}>
      <Shown held={held} what="the alert" again={() => void source.reload()}>
        {(alert) => {
          const href = subjectHref(alert.subject_kind, alert.subject, alert.tenant);
          return (
            <>
              <Why tone={alert.severity === "critical" ? "fail" : alert.severity === "warning" ? "wait" : "work"} said={{message: alert.message, hint: alert.hint}} />
              <Facts
                rows={[
                  ["Subject", href ? <a class="mono" href={href}>{alert.subject}</a> : <span class="mono">{alert.subject}</span>],
                  ["Kind", <span class="mono">{alert.kind}</span>],
                  ["Tenant", alert.tenant],
                  ["Since", `${when(alert.raised_at)}, ${since(alert.raised_at)}`],
                  ["Last seen", when(alert.seen_at)],
                  ["Value", alert.value !== null ? `${alert.value} ${alert.unit}${alert.window_s ? `, mean of ${alert.window_s} s` : ""}` : null],
                  ["Peak", alert.peak !== null ? `${alert.peak} ${alert.unit}` : null],
                  ["Known", isKnown(alert)],
                ]}
              />
              <Suspects alert={alert} />
              <div class="actions">
                <DrillThere alert={alert} />
                {may("case") && <button type="button" class="button" onClick={() => ask(openCase({tenant: alert.tenant ?? undefined, alert: alert.id}))}>Open case…</button>}
                {!isSite.value && may("complaint") && !alert.cleared_at && <button type="button" class="button" onClick={() => ask(complain(alert.id))}>Complain…</button>}
              </div>
              {may("alert") && !alert.cleared_at && (
                <div class="actions">
                  {!alert.acknowledged_by && <button type="button" class={`button ${alert.drill ? "" : "main"}`} onClick={() => ask(acknowledge(alert))}>Acknowledge</button>}
                  {!alert.silenced_until && <button type="button" class="button" onClick={() => ask(silence(alert))}>Silence</button>}
                </div>
              )}
              <Command line={`haasctl alert show ${id}`} />
            </>
          );
        }}
      </Shown>
    </Panel>
  );
}

function Which({now}: {now: Which}) {
  const words: [Which, string][] = isSite.value ? [["open", "Open"], ["silenced", "Silenced"], ["all", "All"]] : [["open", "Open"], ["all", "All"]];
  return (
    <nav class="segments" aria-label="Which alerts">
      {words.map(([word, title]) => <a key={word} href={withWords({state: word === "open" ? undefined : word, at: undefined})} aria-current={now === word ? "true" : undefined}>{title}</a>)}
    </nav>
  );
}

export function Alerts() {
  const which = (query.value.get("state") ?? "open") as Which;
  const source = alerts(which);
  const held = useSource(source);
  const [dialog, ask] = useDialog();
  const [shown, menu] = useColumns("alerts", COLUMNS);
  const list = useMemo(() => [...(held.value ?? [])].sort((a, b) => RANK[a.severity] - RANK[b.severity] || b.id - a.id), [held.value]);
  const rows = useShownRows(list, COLUMNS);
  const chosen = Number(query.value.get("at") ?? 0);
  const open = list.filter((one) => !one.cleared_at && !one.silenced_until);
  const count = (severity: Alert["severity"]) => open.filter((one) => one.severity === severity).length;
  const words = query.value.get("q");
  return (
    <div class={`screen fixed ${held.refusal ? "stale" : ""}`}>
      <Head title="Alerts" about="what a person has to look at now" held={held} filter="critical node" />
      <Shown held={held} what="alerts" again={() => void source.reload()}>
        {() => (
          <Numbers
            rows={[
              {value: count("critical"), label: "critical", tone: "fail"},
              {value: count("warning"), label: "warning", tone: "wait"},
              {value: open.filter((one) => one.acknowledged_by).length, label: "taken by somebody"},
              {value: open.length ? since(open.map((one) => one.raised_at).sort()[0]) : "–", label: "oldest"},
            ]}
          />
        )}
      </Shown>
      {held.value && (
        <>
          <div class="bar"><Which now={which} /><div class="end">{menu}</div></div>
          <div class={`body ${chosen ? "split" : ""}`}>
            <div class="stack">
              <Table
                label="Alerts" beside={chosen > 0} rows={rows} columns={COLUMNS} shown={shown} keyOf={(row) => String(row.id)}
                none={words ? <Empty title="No alert has these words"><a href={withWords({q: undefined})}>Show all</a></Empty> : <Empty title={which === "silenced" ? "Nothing is silenced" : "No open alert"} />}
              />
              {isSite.value && <Silences ask={ask} />}
            </div>
            {chosen > 0 && <Chosen key={chosen} id={chosen} ask={ask} />}
          </div>
          <Command line={`haasctl alert list${which === "open" ? "" : ` --${which}`}`} />
        </>
      )}
      {dialog}
    </div>
  );
}
