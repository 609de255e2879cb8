// The fleet: all nodes that one may see, as one table.
import {useMemo, useState} from "preact/hooks";
import {useSource} from "../../api/source";
import {nodes as source} from "../../api/sources";
import type {Node} from "../../api/types";
import {query, setWords, withWords} from "../../app/route";
import {isSite, may} from "../../app/session";
import {Command} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {Mark, shapeOf} from "../../part/mark";
import {Facts, Panel, Why} from "../../part/panel";
import {Empty, Head, Numbers, Shown, type KeyNumber} from "../../part/screen";
import {Table, useColumns, useGroups, useShownRows} from "../../part/table";
import {count, since, when} from "../../part/time";
import {NodeActions} from "./actions";
import {GROUPS, listLine, NODE_COLUMNS, portOf, SITE_ONLY, stepOf} from "./columns";
import {Edit} from "./edit";
import {Export} from "./export";
import {Import} from "./import";

function numbers(list: Node[]): KeyNumber[] {
  const states = (...words: string[]) => list.filter((one) => words.includes(one.state)).length;
  const rows: KeyNumber[] = [
    {value: states("active"), label: "active", tone: "ok", href: "/nodes?q=state:active"},
    {value: states("reserved", "scrubbing"), label: "worked on", tone: "work", href: "/deployments"},
    {value: states("free"), label: "free", href: "/nodes?q=state:free"},
    {value: states("broken", "held"), label: "broken or held", tone: "fail", href: "/nodes?sort=state"},
    {value: list.filter((one) => one.health).length, label: "with labels", tone: "wait", href: "/nodes?sort=label"},
  ];
  return isSite.value ? rows : rows.filter((row) => row.label !== "free");
}

export function WhyOfNode({node}: {node: Node}) {
  const said = node.bmc?.problem;
  return (
    <>
      {node.reason && <Why tone="fail" said={{message: node.reason}}><span class="quiet"> {node.state} since {when(node.state_since)}{node.state_actor && `, ${node.state_actor.replace(/^account /, "")}`}</span></Why>}
      {said && <Why tone="wait" said={said} />}
    </>
  );
}

function GroupBy() {
  const now = query.value.get("group") ?? "";
  return (
    <label class="choice">Group by <select value={now} onChange={(event) => setWords({group: event.currentTarget.value || undefined})}>
      <option value="">nothing</option>
      {GROUPS.map((name) => <option key={name} value={name}>{name}</option>)}
    </select></label>
  );
}

function Chosen({node, ask}: {node: Node; ask: ReturnType<typeof useDialog>[1]}) {
  const [editing, setEditing] = useState(false);
  const href = `/nodes/${encodeURIComponent(node.name)}`;
  return (
    <Panel title={<a class="mono" href={href}>{node.name}</a>}>
      <WhyOfNode node={node} />
      <Facts
        rows={[
          ["State", <Mark shape={shapeOf.node(node.state)}>{node.state}, {since(node.state_since)}</Mark>],
          ["Tenant", node.tenant],
          ["PDCI", node.pdci && node.tenant ? <a href={`/pdcis/${encodeURIComponent(node.pdci)}?tenant=${encodeURIComponent(node.tenant)}`}>{node.pdci}</a> : null],
          ["Step", stepOf(node)],
          ["Labels", node.health?.labels.join(", ")],
          ["Power", node.power && `${node.power}${node.power_at ? `, ${when(node.power_at)}` : ""}`],
          ["Class", node.class],
          ["Place", node.rack && `${node.rack}${node.unit === null ? "" : `, unit ${node.unit}`}`],
          ["Port", portOf(node) && <span class="mono">{portOf(node)}</span>],
          ["Address", node.address && <span class="mono">{node.address}</span>],
        ]}
      />
      <NodeActions nodes={[node]} ask={ask} />
      <div class="bar"><a class="button" href={href}>Open</a>{may("node_state") && <button type="button" class="button" onClick={() => setEditing(true)}>Edit</button>}</div>
      {editing && <Edit node={node} close={() => setEditing(false)} />}
    </Panel>
  );
}

export function Nodes() {
  const held = useSource(source());
  const [dialog, ask] = useDialog();
  const [picked, setPicked] = useState(new Set<string>());
  const columns = useMemo(() => NODE_COLUMNS.filter((one) => isSite.value || !SITE_ONLY.includes(one.name)), []);
  const [shown, menu] = useColumns("nodes", columns);
  const list = held.value ?? [];
  const [rows, groups] = useGroups(useShownRows(list, columns), columns.find((one) => one.name === query.value.get("group")));
  const [importing, setImporting] = useState(false);
  const chosen = list.find((one) => one.name === query.value.get("at"));
  const words = query.value.get("q") ?? "";
  const sort = query.value.get("sort") ?? "";
  const meant = rows.filter((one) => picked.has(one.name));
  const all = meant.length > 1 && meant.length === rows.length ? {where: words.trim() || "name=*", expected: rows.length} : undefined;
  const about = held.value && <>{rows.length === list.length ? "" : `${count(rows.length)} of `}<b>{count(list.length)}</b> {list.length === 1 ? "node" : "nodes"}{held.busy && !held.refusal && held.value.length % 1000 === 0 && list.length > 0 ? ", more are read" : ""}</>;
  return (
    <div class={`screen fixed ${held.refusal ? "stale" : ""}`}>
      <Head title={isSite.value ? "Nodes" : "My nodes"} about={about} held={held} filter="state:free class:gpu" />
      <Shown held={held} what="nodes" again={() => void source().reload()}>{() => <Numbers rows={numbers(list)} />}</Shown>
      {held.value && (
        <>
          <div class="bar">
            {meant.length > 0 ? <><b>{all ? `All ${count(meant.length)}` : count(meant.length)} picked</b><NodeActions nodes={meant} all={all} ask={ask} /><button type="button" class="button bare" onClick={() => setPicked(new Set())}>Pick none</button></> : <span class="quiet small wide">{may("power") && "Space picks the chosen row, for actions on many"}</span>}
            <div class="end">
              {may("power") && meant.length < rows.length && rows.length > 1 && <button type="button" class="button bare" onClick={() => setPicked(new Set(rows.map((one) => one.name)))}>Pick all {count(rows.length)}</button>}
              <GroupBy />
              {menu}
              <Export words={words} sort={sort} columns={shown.map((one) => one.name)} />
              {may("node_state") && <button type="button" class="button" onClick={() => setImporting(true)}>Import…</button>}
            </div>
          </div>
          <div class={`body ${chosen ? "split" : ""}`}>
            <Table
              label="Nodes" beside={!!chosen} rows={rows} columns={columns} shown={shown} {...(groups ? {groups} : {})} keyOf={(row) => row.name} hrefOf={(row) => `/nodes/${encodeURIComponent(row.name)}`}
              {...(may("power") ? {picked, onPick: setPicked} : {})}
              none={words ? <Empty title="No node has these words"><a href={withWords({q: undefined})}>Show all</a></Empty> : <Empty title={isSite.value ? "No node is known yet" : "You have no node"}><p>{isSite.value ? <span class="mono">haasctl node import fleet.csv</span> : "Nodes come with a PDCI."}</p></Empty>}
            />
            {chosen && <Chosen node={chosen} ask={ask} />}
          </div>
          <Command line={listLine(words, sort)} />
        </>
      )}
      {dialog}
      {importing && <Import close={() => setImporting(false)} />}
    </div>
  );
}
