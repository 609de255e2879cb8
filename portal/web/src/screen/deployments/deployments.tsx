// Provisioning: the wall of what is under way, the table of the same, and beside it why one of them waits.
import {useMemo} from "preact/hooks";
import {useSource} from "../../api/source";
import {deployments as source} from "../../api/sources";
import type {Deployment} from "../../api/types";
import {query, setWords, withWords} from "../../app/route";
import {may} from "../../app/session";
import {Command} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {Mark, shapeOf, waitsOutside} from "../../part/mark";
import {Facts, Panel, Why} from "../../part/panel";
import {Empty, Head, Numbers, Shown} from "../../part/screen";
import {Table, useColumns, useShownRows, type Column} from "../../part/table";
import {bytes, count, now, since, span, when} from "../../part/time";
import {DeploymentActions, isOpen} from "./actions";
import {reasonKey, Reasons} from "./reasons";
import {laneOf, Wall} from "./wall";

const DONE_MS = 3600000;

/** Milliseconds until it ends; undefined: nothing is known, or its step is later than ever. */
const leftOf = (one: Deployment) => (one.eta && !one.eta.late ? Math.max(0, new Date(one.eta.at).getTime() - now.value) : undefined);

function reasonOf(one: Deployment): string | null {
  const said = one.problem ?? one.waiting ?? one.last_problem;
  return said?.message ?? null;
}

const COLUMNS: Column<Deployment>[] = [
  {name: "node", title: "Node", value: (row) => row.node, cell: (row) => <a class="mono" href={`/nodes/${encodeURIComponent(row.node)}`}>{row.node}</a>, width: "minmax(100px, 1fr)", narrow: "title"},
  {name: "tenant", title: "Tenant", value: (row) => row.tenant, width: "minmax(84px, 0.7fr)", narrow: "sub"},
  {name: "plan", title: "Plan", value: (row) => row.plan, width: "84px"},
  {name: "step", title: "Step", value: (row) => row.step || row.state, cell: (row) => <Mark shape={shapeOf.deployment(row)}>{row.state === "done" ? "done" : row.step || row.state}</Mark>, width: "138px", narrow: "state"},
  {name: "state", title: "State", value: (row) => row.state, width: "92px", extra: true},
  {name: "percent", title: "Share", value: (row) => row.percent, cell: (row) => (row.percent === null || !isOpen(row) ? "" : `${row.percent} %`), width: "70px", number: true},
  {name: "left", title: "Left", value: (row) => leftOf(row) ?? null, cell: (row) => { const ms = leftOf(row); return ms === undefined ? "" : `≈ ${span(ms)}`; }, width: "82px", number: true},
  {name: "reason", title: "Why", wide: true, value: reasonOf, cell: (row) => <span class="quiet" title={reasonOf(row) ?? ""}>{reasonOf(row)}</span>, width: "minmax(160px, 2fr)", narrow: "sub"},
  {name: "class", title: "Class", value: (row) => row.class, width: "80px", extra: true},
  {name: "started", title: "Since", value: (row) => row.step_started_at ?? row.created_at, cell: (row) => (row.ended_at ? when(row.ended_at) : since(row.step_started_at ?? row.created_at)), width: "92px", number: true},
];

function Chosen({one, ask}: {one: Deployment; ask: ReturnType<typeof useDialog>[1]}) {
  const waits = waitsOutside(one);
  const ms = leftOf(one);
  return (
    <Panel title={<a class="mono" href={`/nodes/${encodeURIComponent(one.node)}`}>{one.node}</a>}>
      <Why tone="fail" said={one.problem} />
      {!one.problem && one.waiting && <Why tone={waits ? "wait" : "work"} said={one.waiting}><span class="quiet"> for {since(one.waiting.since)}</span></Why>}
      {!one.problem && one.last_problem && <Why tone="wait" said={one.last_problem}><span class="quiet"> at the last attempt</span></Why>}
      <Facts
        rows={[
          ["Plan", one.plan],
          ["Step", <Mark shape={shapeOf.deployment(one)}>{one.step || one.state}{one.attempt > 1 && `, attempt ${one.attempt}`}</Mark>],
          ["Share", isOpen(one) && one.percent !== null ? `${one.percent} %${one.total_bytes ? ` of ${bytes(one.total_bytes)}` : ""}` : null],
          ["Left", one.eta && (ms === undefined ? "its step takes longer than it ever did" : `≈ ${span(ms)}${one.eta.latest ? `, at most ${span(new Date(one.eta.latest).getTime() - now.value)}` : ""}`)],
          ["Usually", one.eta && one.eta.usual_s !== null ? `${span(one.eta.usual_s * 1000)} for this step, of ${one.eta.samples} like it` : null],
          ["Since", isOpen(one) ? since(one.step_started_at ?? one.created_at) : null],
          ["Fails at", isOpen(one) ? one.step_deadline_at && when(one.step_deadline_at) : null],
          ["Ended", one.ended_at && when(one.ended_at)],
          ["Tenant", one.tenant],
          ["Image", one.image && <span class="mono">{one.image}:{one.image_version}</span>],
          ["Asked by", one.actor.replace(/^account /, "")],
        ]}
      />
      <DeploymentActions list={[one]} ask={ask} />
      {may("console") && isOpen(one) && one.step !== "" && <div class="bar"><a class="button" href={`/nodes/${encodeURIComponent(one.node)}/console`}>Console</a></div>}
      <Command line={`haasctl deployment show ${one.id}`} />
    </Panel>
  );
}

export function Deployments() {
  const held = useSource(source());
  const [dialog, ask] = useDialog();
  const [shown, menu] = useColumns("deployments", COLUMNS);
  const list = useMemo(
    () => (held.value ?? []).filter((one) => one.state !== "cleared" && (isOpen(one) || one.state === "failed" || (one.ended_at !== null && now.peek() - new Date(one.ended_at).getTime() < DONE_MS))),
    [held.value],
  );
  const found = useShownRows(list, COLUMNS);
  const lane = query.value.get("lane");
  const why = query.value.get("why");
  const rows = useMemo(() => found.filter((one) => (!lane || laneOf(one) === lane) && (!why || reasonKey(one) === why)), [found, lane, why]);
  const chosen = list.find((one) => String(one.id) === query.value.get("at"));
  const open = list.filter(isOpen);
  const failed = list.filter((one) => one.state === "failed");
  const longest = Math.max(0, ...open.map((one) => leftOf(one) ?? 0));
  const words = query.value.get("q");
  return (
    <div class={`screen ${held.refusal ? "stale" : ""}`}>
      <Head title="Provisioning" about={held.value && <><b>{open.length}</b> under way, what ended within an hour beside it</>} held={held} filter="step:write_image acme" />
      <Shown held={held} what="deployments" again={() => void source().reload()}>
        {() => (
          <Numbers
            rows={[
              {value: open.filter((one) => !waitsOutside(one)).length, label: "working", tone: "work"},
              {value: open.filter(waitsOutside).length, label: "waiting", tone: "wait"},
              {value: failed.length, label: "failed", tone: "fail", href: withWords({q: "state:failed"})},
              {value: list.filter((one) => one.state === "done").length, label: "done", tone: "ok"},
              {value: longest ? `≈ ${span(longest)}` : "–", label: "until the last one"},
            ]}
          />
        )}
      </Shown>
      {held.value && (list.length === 0 ? (
        <Empty title="Nothing is under way"><p>A PDCI, or <span class="mono">haasctl deployment create</span>, begins one.</p></Empty>
      ) : (
        <>
          <Reasons list={found} />
          <Wall list={found} />
          <div class="bar">
            {(lane || why) && <span><b>{count(rows.length)}</b> {lane ? lane.replace(":", ", ") : ""}{lane && why && ", "}{why} <button type="button" class="button bare" onClick={() => setWords({lane: undefined, why: undefined})}>Show all</button></span>}
            {rows.length > 1 && <DeploymentActions list={lane || why || words ? rows : rows.filter((one) => one.state === "failed")} ask={ask} />}
            <div class="end">{menu}</div>
          </div>
          <div class={`body ${chosen ? "split" : ""}`}>
            <Table
              label="Deployments" beside={!!chosen} rows={rows} columns={COLUMNS} shown={shown} keyOf={(row) => String(row.id)} hrefOf={(row) => `/nodes/${encodeURIComponent(row.node)}`}
              none={<Empty title="No deployment has these words"><button type="button" class="button" onClick={() => setWords({q: undefined, lane: undefined, why: undefined})}>Show all</button></Empty>}
            />
            {chosen && <Chosen one={chosen} ask={ask} />}
          </div>
          <Command line={words === "state:failed" ? "haasctl deployment list --state failed" : "haasctl deployment list --active"} />
        </>
      ))}
      {dialog}
    </div>
  );
}
