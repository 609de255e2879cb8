// The nodes of a PDCI: what each does and why it waits, its power as it was read, and what one does to all of them, or to those that are picked.
import {useState} from "preact/hooks";
import {useSource} from "../../api/source";
import {nodesOf} from "../../api/sources";
import type {Node, Pdci} from "../../api/types";
import {may} from "../../app/session";
import type {Ask} from "../../part/dialog";
import {Mark, shapeOf} from "../../part/mark";
import {count, left, span, when} from "../../part/time";
import {HANDS, POWER, power} from "../nodes/actions";
import {groupOf, owner, reinstall, replace, useSpares, type Member} from "./actions";

const [READ] = HANDS;
const CALM = POWER.filter((row) => !row.destructive);
const HARD = POWER.filter((row) => row.destructive);

function StepOf({node}: {node: Member}) {
  const one = node.deployment;
  if (node.released_at) return <Mark shape="idle">given back{node.replaced_by && `, ${node.replaced_by} in its place`}</Mark>;
  if (!one || (one.state === "done" && !node.problem)) return <Mark shape={node.problem ? "fail" : "ok"}>{node.replacing ? "is replaced" : "in use"}</Mark>;
  const ms = left(one.percent, one.step_started_at);
  return (
    <Mark shape={shapeOf.deployment(one)}>
      {one.step || one.state}{one.percent !== null && one.ended_at === null && <span class="quiet"> {one.percent} %{ms !== undefined && `, about ${span(ms)} left`}</span>}
    </Mark>
  );
}

function Power({node}: {node: Node | undefined}) {
  if (!node?.power_at) return <span class="quiet">not read</span>;
  return <span class="nowrap"><Mark shape={node.power === "on" ? "ok" : "idle"}>{node.power || "unknown"}</Mark> <span class="quiet small">{when(node.power_at)}</span></span>;
}

/** What stands behind a place when its node fails. */
function Spares({pdci, members}: {pdci: Pdci; members: Member[]}) {
  const spares = useSpares(pdci);
  if (!spares || pdci.wanted !== "present") return null;
  const groups = new Map(members.map((one) => [one.class, groupOf(pdci, one)?.spare === "automatic"]));
  return (
    <span class="quiet small">
      {[...groups].map(([name, automatic], at) => <span key={name}>{at > 0 && "; "}<b>{count(spares(name))}</b> free of class {name}{automatic ? ", a node that fails is replaced by itself" : ""}</span>)}
    </span>
  );
}

function Bar({pdci, members, picked, ask}: {pdci: Pdci; members: Member[]; picked: number; ask: (ask: Ask) => void}) {
  const nodes = members.map((one) => ({name: one.node}));
  if (nodes.length === 0 || !may("power")) return null;
  return (
    <div class="bar inset">
      <span class="quiet">{picked ? <><b>{count(picked)}</b> picked</> : nodes.length === 1 ? "Its node" : <>All <b>{count(nodes.length)}</b> nodes</>}</span>
      {READ && <button type="button" class="button" onClick={() => ask(power(READ, nodes))}>{READ.title}</button>}
      {CALM.map((row) => <button key={row.action} type="button" class="button" disabled={pdci.locked} onClick={() => ask(power(row, nodes))}>{row.title}</button>)}
      <div class="end">
        {HARD.map((row) => <button key={row.action} type="button" class="button danger" disabled={pdci.locked} onClick={() => ask(power(row, nodes))}>{row.title}…</button>)}
        {may("pdci") && pdci.wanted === "present" && <button type="button" class="button danger" disabled={pdci.locked} onClick={() => ask(reinstall(pdci, members))}>Reinstall…</button>}
      </div>
    </div>
  );
}

export function Nodes({pdci, ask}: {pdci: Pdci; ask: (ask: Ask) => void}) {
  const nodes = pdci.nodes ?? [];
  const [picked, pick] = useState<ReadonlySet<string>>(new Set());
  const of = owner(pdci);
  const read = useSource(nodesOf(`pdci=${pdci.name}${of ? ` tenant=${of}` : ""}`)).value;
  if (nodes.length === 0) return null;
  const here = nodes.filter((one) => !one.released_at);
  const meant = here.filter((one) => picked.has(one.node));
  const toggle = (name: string) => {
    const next = new Set(picked);
    if (!next.delete(name)) next.add(name);
    pick(next);
  };
  return (
    <section class="panel flush" aria-label="Nodes">
      <header><h2>Nodes</h2><Spares pdci={pdci} members={here} /></header>
      <Bar pdci={pdci} members={meant.length ? meant : here} picked={meant.length} ask={ask} />
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of nodes">
        <table class="plain snug">
          <thead><tr>{may("power") && <th class="pick"><span class="hidden">Pick</span></th>}<th>Node</th><th class="wide">Class</th><th>Step</th><th>Power</th><th>Why</th><th>Address</th><th><span class="hidden">Actions</span></th></tr></thead>
          <tbody>
            {nodes.map((node) => {
              const said = node.problem ?? node.deployment?.problem ?? (node.deployment?.ended_at === null ? node.deployment.waiting : null);
              return (
                <tr key={`${node.node}${node.released_at}`} class={picked.has(node.node) && !node.released_at ? "chosen" : ""}>
                  {may("power") && <td class="pick">{!node.released_at && <input type="checkbox" aria-label={`Pick ${node.node}`} checked={picked.has(node.node)} onChange={() => toggle(node.node)} />}</td>}
                  <td><a class="mono" href={`/nodes/${encodeURIComponent(node.node)}`}>{node.node}</a></td>
                  <td class="wide">{node.class}</td>
                  <td><StepOf node={node} /></td>
                  <td>{!node.released_at && <Power node={read?.find((one) => one.name === node.node)} />}</td>
                  <td class="quiet why">{said?.message}{said?.hint && node.problem && <>. {said.hint}</>}</td>
                  <td class="mono">{node.address}</td>
                  <td class="number">
                    {may("console") && !node.released_at && <a class="button small" href={`/nodes/${encodeURIComponent(node.node)}/console`} aria-label={`Console of ${node.node}`}>Console</a>}{" "}
                    {may("pdci") && !node.released_at && !node.replacing && pdci.wanted === "present" && <button type="button" class="button small danger" disabled={pdci.locked} onClick={() => ask(replace(pdci, node))}>Replace…</button>}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
