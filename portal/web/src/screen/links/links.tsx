// Cables: planned against found. And aggregates, and what switches sample.
import {useMemo, useState} from "preact/hooks";
import {useSource, type Held} from "../../api/source";
import {write} from "../../api/client";
import type {AggregatePage, FabricPage, Sampling} from "../../api/types";
import {query, withWords} from "../../app/route";
import {may} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog, type Ask} from "../../part/dialog";
import {Mark, type Shape} from "../../part/mark";
import {Facts, Panel, Why} from "../../part/panel";
import {Empty, Head, Numbers, Shown} from "../../part/screen";
import {Table, useShownRows, type Column} from "../../part/table";
import {forget, useThing} from "../../part/thing";
import {count, span, when} from "../../part/time";
import {fabrics, samplings} from "../switches/sources";
import {SamplingMark} from "../switches/switches";
import {FABRIC, sampled} from "../switches/things";
import {compare, type Cable, type Finding} from "./compare";
import {ImportCables} from "./import";
import {aggregates, cabling} from "./sources";

const FINDING: Record<Finding, Shape> = {"as planned": "ok", "not found": "wait", elsewhere: "fail", "not planned": "idle", conflict: "fail"};
const RANK: Record<Finding, number> = {conflict: 0, elsewhere: 1, "not found": 2, "not planned": 3, "as planned": 4};
const WHY: Partial<Record<Finding, {message: string; hint: string}>> = {
  "not found": {message: "nothing was seen there", hint: "a node that is off is not seen; else look at the cable"},
  elsewhere: {message: "another end was found than was planned", hint: "move the cable, or change the plan: haasctl wiring import"},
  conflict: {message: "its ends name different cables", hint: "look at both ends: haasctl switch ports"},
  "not planned": {message: "nobody planned this cable", hint: "plan it: haasctl wiring import, or unplug it"},
};

const CABLES: Column<Cable>[] = [
  {name: "port", title: "Port", value: (row) => row.port, width: "minmax(130px, 1fr)", mono: true, narrow: "title"},
  {name: "planned", title: "Planned", value: (row) => row.planned, width: "minmax(130px, 1.1fr)", mono: true, narrow: "sub"},
  {name: "found", title: "Found", value: (row) => row.found, width: "minmax(130px, 1.1fr)", mono: true, narrow: "sub"},
  {name: "finding", title: "Finding", value: (row) => row.finding, cell: (row) => <Mark shape={FINDING[row.finding]}>{row.finding}</Mark>, width: "minmax(120px, 0.9fr)", narrow: "state"},
  {name: "sure", title: "Sure", value: (row) => row.certainty, cell: (row) => (row.certainty === null ? "–" : `${row.certainty} %`), width: "72px", number: true, wide: true},
  {name: "since", title: "Since", value: (row) => row.since ?? null, cell: (row) => when(row.since), width: "minmax(120px, 0.8fr)", wide: true},
];

function unplanned(name: string, port: string): Ask {
  return {
    title: "Drop it from the plan", noun: "planned cable", names: [`${name}:${port}`], button: "Drop", destructive: true,
    line: () => `haasctl wiring delete ${quote(name)} ${quote(port)}`,
    act: async () => {
      await write("DELETE /api/v1/wiring", {query: {switch: name, port}});
      void cabling().reload();
    },
  };
}

function ChosenCable({row, ask}: {row: Cable; ask: (ask: Ask) => void}) {
  const colon = row.port.indexOf(":");
  const name = row.port.slice(0, colon);
  return (
    <Panel title={<span class="mono">{row.port}</span>}>
      {WHY[row.finding] && <Why tone={FINDING[row.finding] === "fail" ? "fail" : "wait"} said={WHY[row.finding]} />}
      <Facts
        rows={[
          ["Planned", row.planned && <span class="mono">{row.planned}</span>],
          ["Found", row.found && <span class="mono">{row.found}</span>],
          ["It is at", row.instead && <span class="mono">{row.instead}</span>],
          ["Sure", row.certainty === null ? null : `${row.certainty} %`],
          ["Since", row.since && when(row.since)],
        ]}
      />
      <div class="actions">
        <a class="button" href={`/switches/${encodeURIComponent(name)}?at=${encodeURIComponent(row.port.slice(colon + 1))}`}>Open the port</a>
        {row.planned && may("wiring") && <button type="button" class="button danger" onClick={() => ask(unplanned(name, row.port.slice(colon + 1)))}>Drop from the plan…</button>}
      </div>
      <Command line={`haasctl switch ports ${quote(name)}`} />
    </Panel>
  );
}

function Cables() {
  const source = cabling();
  const held = useSource(source);
  const list = useMemo(() => (held.value ? compare(held.value).sort((a, b) => RANK[a.finding] - RANK[b.finding]) : []), [held.value]);
  const rows = useShownRows(list, CABLES);
  const chosen = list.find((row) => row.key === query.value.get("at"));
  const [importing, setImporting] = useState(false);
  const [dialog, ask] = useDialog();
  const number = (finding: Finding) => list.filter((row) => row.finding === finding).length;
  return (
    <Frame held={held} what="cables" again={() => void source.reload()} line="haasctl wiring list">
      {() => (
        <>
          <Numbers
            rows={[
              {value: number("elsewhere") + number("conflict"), label: "elsewhere or in conflict", tone: "fail", href: withWords({q: "finding:elsewhere"})},
              {value: number("not found"), label: "planned, not found", tone: "wait", href: withWords({q: "finding:found"})},
              {value: number("not planned"), label: "found, not planned"},
              {value: number("as planned"), label: "as planned", tone: "ok"},
            ]}
          />
          {may("wiring") && <div class="bar"><div class="end"><button type="button" class="button" onClick={() => setImporting(true)}>Import…</button></div></div>}
          {importing && <ImportCables close={() => setImporting(false)} />}
          <div class={`body ${chosen ? "split" : ""}`}>
            <Table
              label="Cables" beside={!!chosen} rows={rows} columns={CABLES} shown={CABLES} keyOf={(row) => row.key}
              none={query.value.get("q") ? <Empty title="No cable has these words"><a href={withWords({q: undefined})}>Show all</a></Empty>
                : <Empty title="No cable is planned or found yet"><p class="mono">haasctl wiring import plan.csv</p></Empty>}
            />
            {chosen && <ChosenCable row={chosen} ask={ask} />}
            {dialog}
          </div>
        </>
      )}
    </Frame>
  );
}

type Aggregate = AggregatePage["items"][number];

const AGGREGATES: Column<Aggregate>[] = [
  {name: "aggregate", title: "Aggregate", value: (row) => `${row.switch}:${row.aggregate}`, width: "minmax(140px, 1fr)", mono: true, narrow: "title"},
  {name: "up", title: "Link", value: (row) => (row.up ? "up" : "down"), cell: (row) => <Mark shape={row.up ? "ok" : "fail"}>{row.up ? "up" : "down"}</Mark>, width: "90px", narrow: "state"},
  {name: "members", title: "Members", value: (row) => row.members.join(", "), width: "minmax(160px, 1.4fr)", mono: true, narrow: "sub"},
  {name: "for", title: "Made for", value: (row) => (row.ours ? row.bond ?? "a node" : "others"), width: "minmax(120px, 1fr)"},
  {name: "vlans", title: "VLANs", value: (row) => (row.trunk === null || row.trunk === undefined ? "not read" : row.tagged_vlans || String(row.native_vlan ?? "none")), width: "minmax(120px, 1fr)"},
  {name: "seen", title: "Read", value: (row) => row.seen_at ?? null, cell: (row) => when(row.seen_at), width: "minmax(100px, 0.7fr)"},
];

function Aggregates() {
  const source = aggregates();
  const held = useSource(source);
  const rows = useShownRows(held.value ?? [], AGGREGATES);
  return (
    <Frame held={held} what="aggregates" again={() => void source.reload()} line="haasctl switch aggregates">
      {() => <Table label="Aggregates" rows={rows} columns={AGGREGATES} shown={AGGREGATES} keyOf={(row) => `${row.switch}:${row.aggregate}`} none={<Empty title="No switch shows an aggregate" />} />}
    </Frame>
  );
}

const SAMPLES: Column<Sampling>[] = [
  {name: "switch", title: "Switch", value: (row) => row.switch, cell: (row) => <a class="mono" href={`/switches/${encodeURIComponent(row.switch)}`}>{row.switch}</a>, width: "minmax(120px, 1fr)", mono: true, narrow: "title"},
  {name: "state", title: "State", value: (row) => row.state, cell: (row) => <SamplingMark sampling={row} />, width: "minmax(110px, 0.8fr)", narrow: "state"},
  {name: "wanted", title: "Wanted, one of", value: (row) => row.setting?.rate ?? null, cell: (row) => (row.setting?.rate ? count(row.setting.rate) : "–"), width: "minmax(110px, 0.7fr)", number: true},
  {name: "told", title: "Told, one of", value: (row) => row.told_rate ?? null, cell: (row) => (row.told_rate ? count(row.told_rate) : "–"), width: "minmax(100px, 0.7fr)", number: true, narrow: "sub"},
  {name: "ports", title: "Ports", value: (row) => row.sources, width: "80px", number: true},
  {name: "why", title: "Why", value: (row) => (row.problem as {message?: string} | null)?.message ?? row.backoff ?? null, width: "minmax(160px, 1.6fr)"},
];

function Samples() {
  const source = samplings();
  const held = useSource(source);
  const rows = useShownRows(held.value ?? [], SAMPLES);
  return (
    <Frame held={held} what="sampling" again={() => void source.reload()} line="haasctl sampling show">
      {() => <Table label="Sampling" rows={rows} columns={SAMPLES} shown={SAMPLES} keyOf={(row) => row.switch} none={<Empty title="No switch is told to sample"><p class="mono">haasctl sampling set --fabric main --rate 10000</p></Empty>} />}
    </Frame>
  );
}

type Fabric = FabricPage["items"][number];

const FABRICS: Column<Fabric>[] = [
  {name: "fabric", title: "Fabric", value: (row) => row.name, width: "minmax(110px, 1fr)", mono: true, narrow: "title"},
  {name: "vlans", title: "VLANs of ours", value: (row) => `${row.vlan_low} to ${row.vlan_high}`, width: "minmax(120px, 1fr)", narrow: "sub"},
  {name: "parking", title: "Of free ports", value: (row) => `${row.parking_vlan}${(row.parking_count ?? 1) > 1 ? ` to ${row.parking_vlan + (row.parking_count ?? 1) - 1}` : ""}`, width: "minmax(120px, 1fr)", wide: true},
  {name: "rest", title: "A VLAN rests", value: (row) => row.quarantine_s, cell: (row) => span(row.quarantine_s * 1000), width: "112px", number: true, wide: true},
  {name: "foreign", title: "A foreign change", value: (row) => (row.repair === "repair" ? "is repaired" : "is reported"), width: "minmax(120px, 1fr)"},
  {name: "switches", title: "Switches", value: (row) => row.switches, width: "92px", number: true, narrow: "state"},
  {name: "silent", title: "Silent", value: (row) => row.silent, width: "76px", number: true},
  {name: "links", title: "Links", value: (row) => row.links, width: "76px", number: true},
];

function Fabrics() {
  const source = fabrics();
  const held = useSource(source);
  const [dialog, ask] = useDialog();
  const [form, edit] = useThing();
  const rows = useShownRows(held.value ?? [], FABRICS);
  const chosen = held.value?.find((one) => one.name === query.value.get("at"));
  return (
    <Frame held={held} what="fabrics" again={() => void source.reload()} line="haasctl fabric list">
      {() => (
        <>
          {may("switch_edit") && <div class="bar"><div class="end"><button type="button" class="button" onClick={() => edit(FABRIC)}>New fabric</button></div></div>}
          <div class={`body ${chosen ? "split" : ""}`}>
            <Table label="Fabrics" beside={!!chosen} rows={rows} columns={FABRICS} shown={FABRICS} keyOf={(row) => row.name} none={<Empty title="No fabric is declared"><p class="mono">haasctl fabric create main --vlans 100-999 --parking 4000</p></Empty>} />
            {chosen && (
              <Panel title={<span class="mono">{chosen.name}</span>}>
                <Facts rows={[...FABRICS.slice(1).map(({title, cell, value}): [string, preact.ComponentChildren] => [title, cell ? cell(chosen) : String(value(chosen))]), ["Since", when(chosen.created_at)]]} />
                {may("switch_edit") && (
                  <div class="actions">
                    <button type="button" class="button" onClick={() => edit(FABRIC, chosen.name)}>Edit</button>
                    <button type="button" class="button" onClick={() => edit(sampled("fabric", "Switches with a sampling of their own keep that."), chosen.name)}>Sampling</button>
                    <button type="button" class="button danger" onClick={() => ask(forget(FABRIC, chosen.name))}>Delete…</button>
                  </div>
                )}
                <Command line={`haasctl fabric show ${quote(chosen.name)}`} />
              </Panel>
            )}
          </div>
          {dialog}{form}
        </>
      )}
    </Frame>
  );
}

const SHOWS = [["cables", "Cables"], ["aggregates", "Aggregates"], ["sampling", "Sampling"], ["fabrics", "Fabrics"]] as const;

function Frame<T>({held, what, again, line, children}: {held: Held<T>; what: string; again: () => void; line: string; children: (value: T) => preact.ComponentChildren}) {
  const show = query.value.get("show") ?? "cables";
  return (
    <div class={`screen ${held.refusal && held.value ? "stale" : ""}`}>
      <Head title="Links" about="cables, planned and found; aggregates; sampling; fabrics" held={held} filter="leaf1" />
      <nav class="segments start" aria-label="Which table">
        {SHOWS.map(([word, title]) => <a key={word} href={`/links${word === "cables" ? "" : `?show=${word}`}`} aria-current={show === word ? "true" : undefined}>{title}</a>)}
      </nav>
      <Shown held={held} what={what} again={again}>{children}</Shown>
      <Command line={line} />
    </div>
  );
}

export function Links() {
  const show = query.value.get("show");
  return show === "aggregates" ? <Aggregates /> : show === "sampling" ? <Samples /> : show === "fabrics" ? <Fabrics /> : <Cables />;
}
