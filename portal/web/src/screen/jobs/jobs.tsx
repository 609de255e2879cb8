// Jobs: the work that requests have started, and how far each is.
import {read} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import type {Job} from "../../api/types";
import {query, withWords} from "../../app/route";
import {Command} from "../../part/command";
import {ListScreen, Segments} from "../../part/list";
import {Mark, type Shape} from "../../part/mark";
import {Facts, Panel} from "../../part/panel";
import {Empty, Shown} from "../../part/screen";
import type {Column} from "../../part/table";
import {when} from "../../part/time";

const READ = 500;
const SHAPES: Record<Job["state"], Shape> = {running: "work", done: "ok", failed: "fail"};

const COLUMNS: Column<Job>[] = [
  {name: "id", title: "Job", value: (row) => row.id, width: "80px", number: true},
  {name: "kind", title: "Kind", value: (row) => row.kind, width: "minmax(150px, 1fr)", mono: true, narrow: "title"},
  {name: "state", title: "State", value: (row) => row.state, cell: (row) => <Mark shape={SHAPES[row.state]}>{row.state}</Mark>, width: "110px", narrow: "state"},
  {
    name: "done", title: "Done", value: (row) => row.done, width: "minmax(150px, 1fr)", narrow: "sub",
    cell: (row) => <><span class={`share ${row.failed ? "fail" : row.state === "done" ? "ok" : ""}`} aria-hidden="true"><i style={{width: `${row.total ? (100 * (row.done + row.failed)) / row.total : 0}%`}} /></span><span class="tight">{row.done}<span class="quiet"> of {row.total}</span></span></>,
  },
  {name: "failed", title: "Failed", value: (row) => row.failed, width: "90px", number: true},
  {name: "actor", title: "Asked by", value: (row) => row.actor.replace(/^account /, ""), width: "minmax(110px, 1fr)", wide: true, narrow: "sub"},
  {name: "at", title: "Asked", value: (row) => row.created_at, cell: (row) => <>{when(row.created_at)}</>, width: "150px", number: true, wide: true},
];

const jobs = (state: string) =>
  sourceOf<Job[]>(`jobs ${state}`, () => ({
    load: async () => (await read("/api/v1/jobs", {}, {limit: READ, state: state || undefined})).items,
    touches: (event) => event.subject_kind === "deployment" || event.kind.startsWith("node.action"),
    every: (value) => (value?.some((one) => one.state === "running") ? 3000 : 15000),
  }));

const job = (id: number) => sourceOf(`job ${id}`, () => ({load: () => read("/api/v1/jobs/{job}", {job: id}), touches: (event) => event.subject_kind === "deployment" || event.subject_kind === "node", every: () => 5000}));

function Chosen({row}: {row: Job}) {
  const source = job(row.id);
  const held = useSource(source);
  return (
    <Panel title={`Job ${row.id}`}>
      <Facts rows={[["Kind", <span class="mono">{row.kind}</span>], ["State", <Mark shape={SHAPES[row.state]}>{row.state}</Mark>], ["Asked", `${when(row.created_at)} by ${row.actor.replace(/^account /, "")}`], ["Ended", row.ended_at && when(row.ended_at)]]} />
      <Shown held={held} what="its parts" again={() => void source.reload()}>
        {(one) => (
          <ul class="lines bare">
            {(one.items ?? []).map((item) => (
              <li key={`${item.deployment ?? item.action} ${item.node}`}>
                <span class="grow"><a class="mono" href={`/nodes/${encodeURIComponent(item.node)}`}>{item.node}</a> <span class="quiet">{item.step || item.action}</span>{item.problem?.message && <><br /><span class="small">{item.problem.message}</span></>}</span>
                <span class={item.state === "failed" ? "fail" : "quiet"}>{item.state}</span>
              </li>
            ))}
          </ul>
        )}
      </Shown>
      <Command line={`haasctl job show ${row.id}`} />
    </Panel>
  );
}

export function Jobs() {
  const state = query.value.get("state") ?? "";
  const source = jobs(state);
  const held = useSource(source);
  return (
    <ListScreen
      title="Jobs" what="jobs" table="jobs" filter="install failed" held={held} again={() => void source.reload()} columns={COLUMNS} keyOf={(row) => String(row.id)} about="what requests have started"
      numbers={(list) => [
        {value: list.filter((one) => one.state === "running").length, label: "running", tone: "work"},
        {value: list.filter((one) => one.state === "failed").length, label: "failed", tone: "fail"},
        {value: list.filter((one) => one.state === "done").length, label: "done", tone: "ok"},
      ]}
      bar={<Segments label="Which jobs" rows={["", "running", "failed", "done"].map((word) => [withWords({state: word, at: undefined}), word || "all", state === word])} />}
      panel={(row) => <Chosen key={row.id} row={row} />}
      none={<Empty title="No job"><p>A request that takes long makes one: <span class="mono">haasctl node power on n1</span></p></Empty>}
      line={`haasctl job list${state ? ` --state ${state}` : ""}`}
    />
  );
}
