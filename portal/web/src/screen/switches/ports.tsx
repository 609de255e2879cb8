// The ports of a switch, and of the chosen one its counters over time.
import {useMemo, useState} from "preact/hooks";
import {useSource} from "../../api/source";
import {loadNow, moving} from "../../api/stream";
import type {SwitchPorts} from "../../api/types";
import {query, withWords} from "../../app/route";
import {may} from "../../app/session";
import {Command, quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {Mark} from "../../part/mark";
import {Facts, Panel} from "../../part/panel";
import {Empty, Shown} from "../../part/screen";
import {Series} from "../../part/series";
import {Table, useShownRows, type Column} from "../../part/table";
import {bits, when} from "../../part/time";
import {portSeries} from "../topology/sources";
import {locate} from "./actions";
import {PortActions} from "./port";
import {portsOf} from "./sources";

/** With what it sends now, where it is one of the busiest links. */
type Port = SwitchPorts["items"][number] & {load?: number | undefined};

function vlans(port: Port): string {
  if (port.trunk === null || port.trunk === undefined) return "not read";
  return [port.native_vlan ? `${port.native_vlan} untagged` : "", port.tagged_vlans ? `${port.tagged_vlans} tagged` : ""].filter(Boolean).join(", ") || "none";
}

const behind = (port: Port) => port.peer ?? (port.nics?.join(", ") || null);

const COLUMNS: Column<Port>[] = [
  {name: "port", title: "Port", value: (row) => row.port, width: "minmax(100px, 1fr)", mono: true, narrow: "title"},
  {name: "up", title: "Link", value: (row) => (row.up ? "up" : row.admin_up === false ? "off" : "down"), cell: (row) => <Mark shape={row.up ? "ok" : row.admin_up === false ? "idle" : "fail"}>{row.up ? "up" : row.admin_up === false ? "off" : "down"}</Mark>, width: "90px", narrow: "state"},
  {name: "speed", title: "Speed", value: (row) => row.speed_bps || null, cell: (row) => (row.speed_bps ? bits(row.speed_bps) : "–"), width: "116px", number: true},
  {name: "load", title: "Sends, last 5 s", value: (row) => row.load ?? null, cell: (row) => (row.load === undefined ? "–" : bits(row.load)), width: "124px", number: true},
  {name: "kind", title: "Kind", value: (row) => row.kind, width: "84px", wide: true},
  {name: "behind", title: "Behind it", value: behind, cell: (row) => <span class="mono">{behind(row) ?? "–"}</span>, width: "minmax(160px, 1.6fr)", narrow: "sub"},
  {name: "vlans", title: "VLANs", value: vlans, width: "minmax(140px, 1.4fr)", wide: true},
  {name: "lag", title: "Aggregate", value: (row) => row.lag || null, width: "100px", mono: true, wide: true},
];

const WINDOWS: [string, string][] = [["1h", "Hour"], ["1d", "Day"], ["30d", "30 days"]];

function Counters({name, port, speed}: {name: string; port: string; speed: number | undefined}) {
  const [window, choose] = useState("1h");
  const source = portSeries(name, port, window);
  const held = useSource(source);
  const told = held.value;
  const at = useMemo(() => (told ? told.out.mean.map((_, index) => Date.parse(told.from) / 1000 + index * told.step_s) : []), [told]);
  const lines = useMemo(() => (told ? [{name: "out", values: told.out.mean, low: told.out.low, high: told.out.high}, {name: "in", values: told.in.mean}] : []), [told]);
  const sum = (values: (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);
  return (
    <div class="stack">
      <div class="segments" role="group" aria-label="How long">
        {WINDOWS.map(([word, title]) => <button key={word} type="button" aria-pressed={word === window} onClick={() => choose(word)}>{title}</button>)}
      </div>
      <Shown held={held} what="its counters" again={() => void source.reload()}>
        {(value) =>
          value.source === null ? <p class="quiet small">Nobody told its counters in this time.</p> : (
            <>
              <Series label={`Counters of ${name}:${port}`} at={at} lines={lines} format={bits} height={130} {...(speed ? {most: speed} : {})} />
              <p class="quiet small">by {value.source === "snmp" ? "SNMP" : "sFlow"}, in steps of {value.step_s} s; {sum(value.errors)} errors, {sum(value.discards)} discards</p>
            </>
          )
        }
      </Shown>
    </div>
  );
}

function ChosenPort({name, port, ask}: {name: string; port: Port; ask: (ask: Ask) => void}) {
  return (
    <Panel title={<span class="mono">{name}:{port.port}</span>}>
      <Facts
        rows={[
          ["Behind it", behind(port) && <span class="mono">{behind(port)}</span>],
          ["Sends", port.load === undefined ? null : `${bits(port.load)} in the last 5 s`],
          ["VLANs", vlans(port)],
          ["Spanning tree", port.stp],
          ["Says of itself", port.alias],
          ["Number", port.if_index ? `${port.if_index}, in its samples` : "not told: its samples are nobody's"],
          ["Read", when(port.seen_at)],
        ]}
      />
      <Counters key={port.port} name={name} port={port.port} speed={port.speed_bps} />
      {may("switch_read") && port.nics?.[0] && <div class="actions"><button type="button" class="button" onClick={() => ask(locate(name, port.port, port.nics![0]!))}>Blink its LED</button></div>}
      {may("switch_edit") && <PortActions key={port.port} name={name} port={port.port} ask={ask} />}
      <Command line={`haasctl port load ${quote(`${name}:${port.port}`)}`} />
    </Panel>
  );
}

export function Ports({name, ask}: {name: string; ask: (ask: Ask) => void}) {
  const source = portsOf(name);
  const held = useSource(source);
  const told = moving.value;
  const ports = useMemo(() => (held.value ?? []).map((one): Port => ({...one, load: loadNow(told, name, one.port)})), [held.value, told, name]);
  const rows = useShownRows(ports, COLUMNS);
  const chosen = ports.find((one) => one.port === query.value.get("at"));
  return (
    <section class="stack" aria-label="Ports">
      <h2>Ports</h2>
      <Shown held={held} what="its ports" again={() => void source.reload()}>
        {() => (
          <div class={`body ${chosen ? "split" : ""}`}>
            <Table
              label="Ports" beside={!!chosen} rows={rows} columns={COLUMNS} shown={COLUMNS} keyOf={(row) => row.port}
              none={query.value.get("q") ? <Empty title="No port has these words"><a href={withWords({q: undefined})}>Show all</a></Empty> : <Empty title="It was not read yet" />}
            />
            {chosen && <ChosenPort name={name} port={chosen} ask={ask} />}
          </div>
        )}
      </Shown>
    </section>
  );
}
