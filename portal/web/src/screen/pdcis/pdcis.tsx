// PDCIs: what tenants rent, each as one.
import {useMemo} from "preact/hooks";
import {useSource} from "../../api/source";
import {pdcis as source} from "../../api/sources";
import type {Pdci} from "../../api/types";
import {go, query, withWords} from "../../app/route";
import {isSite, may} from "../../app/session";
import {Command} from "../../part/command";
import {Mark, shapeOf} from "../../part/mark";
import {Facts, Panel, Why} from "../../part/panel";
import {Empty, Head, Numbers, Shown} from "../../part/screen";
import {Table, useColumns, useShownRows, type Column} from "../../part/table";
import {since, when} from "../../part/time";

/** One that is called "new" is shown by its number: /pdcis/new asks for another. */
export const pdciHref = (one: {id: number; name: string; tenant: string}) =>
  `/pdcis/${encodeURIComponent(one.name === "new" ? one.id : one.name)}${isSite.value ? `?tenant=${encodeURIComponent(one.tenant)}` : ""}`;

export function Ready({one}: {one: Pdci}) {
  const shape = shapeOf.pdci(one.state);
  const share = one.nodes_wanted ? (100 * one.nodes_ready) / one.nodes_wanted : 0;
  const tone = shape === "idle" || shape === "work" ? "" : shape;
  return (
    <>
      <span class={`share ${tone}`} aria-hidden="true"><i style={{width: `${share}%`}} /></span>
      <span class="tight">{one.nodes_ready}<span class="quiet"> of {one.nodes_wanted}</span></span>
    </>
  );
}

const COLUMNS: Column<Pdci>[] = [
  {name: "name", title: "PDCI", value: (row) => row.name, cell: (row) => <a class="mono" href={pdciHref(row)}>{row.name}</a>, width: "minmax(110px, 1fr)", narrow: "title"},
  {name: "tenant", title: "Tenant", value: (row) => row.tenant, width: "minmax(90px, 0.8fr)", narrow: "sub"},
  {name: "state", title: "State", value: (row) => row.state, cell: (row) => <Mark shape={shapeOf.pdci(row.state)}>{row.state}</Mark>, width: "116px", narrow: "state"},
  {name: "ready", title: "Nodes ready", value: (row) => `${row.nodes_ready} of ${row.nodes_wanted} nodes`, cell: (row) => <Ready one={row} />, width: "minmax(150px, 1fr)", narrow: "sub"},
  {name: "reason", title: "Why", wide: true, value: (row) => row.problem?.message ?? row.waiting?.message ?? null, cell: (row) => <span class="quiet">{row.problem?.message ?? row.waiting?.message}</span>, width: "minmax(160px, 2fr)", narrow: "sub"},
  {name: "locked", title: "Locked", value: (row) => (row.locked ? "locked" : null), cell: (row) => (row.locked ? "locked" : ""), width: "76px"},
  {name: "actor", title: "Asked by", value: (row) => row.actor.replace(/^account /, ""), width: "130px", extra: true},
  {name: "since", title: "Age", value: (row) => row.created_at, cell: (row) => <span title={when(row.created_at)}>{since(row.created_at)}</span>, width: "92px", number: true},
];

function Chosen({one}: {one: Pdci}) {
  return (
    <Panel title={<a class="mono" href={pdciHref(one)}>{one.name}</a>}>
      <Why tone={one.state === "failed" ? "fail" : "wait"} said={one.problem ?? one.waiting} />
      <Facts
        rows={[
          ["State", <Mark shape={shapeOf.pdci(one.state)}>{one.state}{one.locked && ", locked"}</Mark>],
          ["Tenant", one.tenant],
          ["Nodes", `${one.nodes_ready} ready, ${one.nodes_held} held, ${one.nodes_wanted} wanted`],
          ["Asked", `${when(one.created_at)} by ${one.actor.replace(/^account /, "")}`],
          ["Ready", one.ready_at && when(one.ready_at)],
        ]}
      />
      <div class="bar"><a class="button" href={pdciHref(one)}>Open</a></div>
    </Panel>
  );
}

export function Pdcis() {
  const all = query.value.get("all") === "yes";
  const held = useSource(source(!all));
  const columns = useMemo(() => COLUMNS.filter((one) => isSite.value || one.name !== "tenant"), []);
  const [shown, menu] = useColumns("pdcis", columns);
  const list = held.value ?? [];
  const rows = useShownRows(list, COLUMNS);
  const chosen = list.find((one) => String(one.id) === query.value.get("at"));
  const states = (...words: string[]) => list.filter((one) => words.includes(one.state)).length;
  const held_nodes = list.reduce((sum, one) => sum + one.nodes_held, 0);
  return (
    <div class={`screen fixed ${held.refusal ? "stale" : ""}`}>
      <Head title={isSite.value ? "PDCIs" : "My PDCIs"} about={held.value && <><b>{held_nodes}</b> nodes in <b>{list.length}</b></>} held={held} filter={isSite.value ? "building acme" : "building"} />
      <Shown held={held} what="PDCIs" again={() => void source(!all).reload()}>
        {() => (
          <Numbers
            rows={[
              {value: states("ready"), label: "ready", tone: "ok"},
              {value: states("requested", "building"), label: "building", tone: "work"},
              {value: states("infeasible"), label: "wait for nodes", tone: "wait"},
              {value: states("failed"), label: "failed", tone: "fail"},
              {value: states("releasing"), label: "releasing", tone: "work"},
            ]}
          />
        )}
      </Shown>
      {held.value && (
        <>
          <div class="bar">
            <nav class="segments" aria-label="Which PDCIs">
              <a href={withWords({all: undefined, at: undefined})} aria-current={all ? undefined : "true"}>Rented</a>
              <a href={withWords({all: "yes", at: undefined})} aria-current={all ? "true" : undefined}>All</a>
            </nav>
            <div class="end">{may("pdci") && <a class="button main" href="/pdcis/new">New PDCI</a>}{menu}</div>
          </div>
          <div class={`body ${chosen ? "split" : ""}`}>
            <Table
              label="PDCIs" beside={!!chosen} rows={rows} columns={columns} shown={shown} keyOf={(row) => String(row.id)} hrefOf={pdciHref}
              none={query.value.get("q") ? <Empty title="No PDCI has these words"><button type="button" class="button" onClick={() => go(withWords({q: undefined}), true)}>Show all</button></Empty> : <Empty title="No PDCI">{may("pdci") && <a class="button main" href="/pdcis/new">New PDCI</a>}</Empty>}
            />
            {chosen && <Chosen one={chosen} />}
          </div>
          <Command line={`haasctl pdci list${all ? " --all" : ""}`} />
        </>
      )}
    </div>
  );
}
