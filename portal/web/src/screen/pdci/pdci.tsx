// One PDCI: how far it is, what each node does and why it waits, its networks and volumes, how to give it back.
import {useSource} from "../../api/source";
import {pdci as source} from "../../api/sources";
import type {Pdci} from "../../api/types";
import {query, withWords} from "../../app/route";
import {may} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog, type Ask} from "../../part/dialog";
import {Mark, shapeOf} from "../../part/mark";
import {Why} from "../../part/panel";
import {Head, Numbers, Shown} from "../../part/screen";
import {bytes, left, since, span, when} from "../../part/time";
import {PdciSheet} from "../sheet/sheet";
import {lock, release, replace} from "./actions";

type Member = NonNullable<Pdci["nodes"]>[number];

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

function Nodes({pdci, ask}: {pdci: Pdci; ask: (ask: Ask) => void}) {
  const nodes = pdci.nodes ?? [];
  if (nodes.length === 0) return null;
  return (
    <section class="panel flush" aria-label="Nodes">
      <header><h2>Nodes</h2></header>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of nodes">
        <table class="plain">
          <thead><tr><th>Node</th><th class="wide">Class</th><th>Step</th><th>Why</th><th>Address</th><th><span class="hidden">Actions</span></th></tr></thead>
          <tbody>
            {nodes.map((node) => {
              const said = node.problem ?? node.deployment?.problem ?? (node.deployment?.ended_at === null ? node.deployment.waiting : null);
              return (
                <tr key={`${node.node}${node.released_at}`}>
                  <td><a class="mono" href={`/nodes/${encodeURIComponent(node.node)}`}>{node.node}</a></td>
                  <td class="wide">{node.class}</td>
                  <td><StepOf node={node} /></td>
                  <td class="quiet why">{said?.message}{said?.hint && node.problem && <>. {said.hint}</>}</td>
                  <td class="mono">{node.address}</td>
                  <td class="number">
                    {may("console") && !node.released_at && <a class="button" href={`/nodes/${encodeURIComponent(node.node)}/console`} aria-label={`Console of ${node.node}`}>Console</a>}{" "}
                    {may("pdci") && !node.released_at && !node.replacing && pdci.wanted === "present" && <button type="button" class="button danger" disabled={pdci.locked} onClick={() => ask(replace(pdci, node.node))}>Replace…</button>}
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

function Networks({pdci}: {pdci: Pdci}) {
  if (!pdci.networks?.length) return null;
  return (
    <section class="panel flush" aria-label="Networks">
      <header><h2>Networks</h2></header>
      <ul class="lines">
        {pdci.networks.map((one) => <li key={one.id}><span class="mono">{one.name}</span><span class="mono quiet">{one.prefix ?? "no prefix"}</span></li>)}
      </ul>
    </section>
  );
}

function Volumes({pdci}: {pdci: Pdci}) {
  if (!pdci.volumes?.length) return null;
  return (
    <section class="panel flush" aria-label="Volumes">
      <header><h2>Volumes</h2></header>
      <ul class="lines">
        {pdci.volumes.map((one) => <li key={`${one.id}${one.name}`}><span class="mono">{one.name}</span><span class="quiet">{one.kind}, {one.state}</span><span>{bytes(one.size_bytes)}</span></li>)}
      </ul>
    </section>
  );
}

const TABS = [
  {name: "", title: "Nodes"},
  {name: "sheet", title: "OS sheet"},
];

function Tabs({tab}: {tab: string}) {
  return (
    <nav class="segments" aria-label="What of it">
      {TABS.map((one) => <a key={one.name} href={withWords({tab: one.name || undefined})} aria-current={tab === one.name ? "true" : undefined}>{one.title}</a>)}
    </nav>
  );
}

export function PdciScreen({name}: {name: string}) {
  const tenant = query.value.get("tenant") ?? undefined;
  const place = source(name, tenant);
  const held = useSource(place);
  const [dialog, ask] = useDialog();
  const tab = query.value.get("tab") ?? "";
  const words = `${quote(name)}${tenant ? ` --tenant ${quote(tenant)}` : ""}`;
  return (
    <div class="screen">
      <Head title={name} about={<a href="/pdcis">{tenant ? `PDCI of ${tenant}` : "PDCIs"}</a>} held={held} />
      <Shown held={held} what="the PDCI" again={() => void place.reload()}>
        {(pdci) => (
          <>
            <Numbers
              rows={[
                {value: pdci.state, label: pdci.ready_at && pdci.state === "ready" ? `since ${when(pdci.ready_at)}` : `asked ${since(pdci.created_at)} ago`, tone: shapeOf.pdci(pdci.state) === "idle" ? undefined : (shapeOf.pdci(pdci.state) as "ok")},
                {value: `${pdci.nodes_ready} of ${pdci.nodes_wanted}`, label: "nodes ready"},
                ...(pdci.nodes_held !== pdci.nodes_wanted ? [{value: pdci.nodes_held, label: "nodes held"}] : []),
                ...(pdci.locked ? [{value: "locked", label: "refuses release and power off"}] : []),
              ]}
            />
            <Why tone={pdci.state === "failed" ? "fail" : "wait"} said={pdci.problem ?? pdci.waiting} />
            {may("pdci") && pdci.state !== "released" && (
              <div class="actions">
                <button type="button" class="button" onClick={() => ask(lock(pdci))}>{pdci.locked ? "Unlock" : "Lock"}</button>
                {pdci.wanted === "present" && <button type="button" class="button danger" disabled={pdci.locked} onClick={() => ask(release(pdci))}>Release…</button>}
              </div>
            )}
            <div class="bar"><Tabs tab={tab} /></div>
            {tab === "sheet" ? <PdciSheet key={pdci.id} pdci={pdci} /> : (
              <>
                <Nodes pdci={pdci} ask={ask} />
                <div class="columns"><Networks pdci={pdci} /><Volumes pdci={pdci} /></div>
                <Command line={`haasctl pdci describe ${words}`} />
              </>
            )}
          </>
        )}
      </Shown>
      {dialog}
    </div>
  );
}
