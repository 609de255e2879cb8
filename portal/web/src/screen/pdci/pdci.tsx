// One PDCI: how far it is, what each node does and why it waits, its networks and volumes, how to give it back.
import {useSource} from "../../api/source";
import {pdci as source} from "../../api/sources";
import type {Pdci} from "../../api/types";
import {query, withWords} from "../../app/route";
import {may} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {shapeOf} from "../../part/mark";
import {Why} from "../../part/panel";
import {Head, Numbers, Shown} from "../../part/screen";
import {bytes, since, when} from "../../part/time";
import {drillUrl} from "../drill/url";
import {PdciSheet} from "../sheet/sheet";
import {lock, release} from "./actions";
import {Nodes} from "./nodes";
import {Proofs} from "./proofs";

function Networks({pdci}: {pdci: Pdci}) {
  if (!pdci.networks?.length) return null;
  return (
    <section class="panel flush" aria-label="Networks">
      <header>
        <h2>Networks</h2>
        <span class="bar">
          <a class="button small" href={drillUrl({path: `tenant:${pdci.tenant}`})}>Traffic</a>
          <a class="button small" href={`/topology?tenant=${encodeURIComponent(pdci.tenant)}`}>On the fabric</a>
        </span>
      </header>
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
  {name: "proofs", title: "Proofs"},
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
                ...(pdci.locked ? [{value: "locked", label: "refuses release, replace and power"}] : []),
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
            {tab === "sheet" ? <PdciSheet key={pdci.id} pdci={pdci} /> : tab === "proofs" ? <Proofs pdci={pdci} /> : (
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
