// What the collector of traffic hears: each switch that sends samples, what was lost on the way, and whether its minutes get to Kafka. Bounds of the drill rest
// on it.
import {read} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import type {TrafficAgents} from "../../api/types";
import {query} from "../../app/route";
import {Command, quote} from "../../part/command";
import {Mark, type Shape} from "../../part/mark";
import {Facts, Panel, Why} from "../../part/panel";
import {Empty, Head, Numbers, Shown} from "../../part/screen";
import {Table, useColumns, useShownRows, type Column} from "../../part/table";
import {bytes, count, since, when} from "../../part/time";

type Agent = TrafficAgents["agents"][number];

const agents = () => sourceOf("traffic agents", () => ({load: () => read("/api/v1/traffic/agents"), every: () => 5000}));
const exported = () => sourceOf("traffic export", () => ({load: () => read("/api/v1/traffic/export"), every: () => 10000}));

const share = (lost: number, of: number) => (of > 0 ? lost / of : 0);
/** Samples lost on the way or given up by the switch: the collector weighs the others up for it. */
const lost = (one: Agent) => share(one.samples_missing + one.samples_dropped, one.samples + one.samples_missing + one.samples_dropped);

function stateOf(one: Agent): [Shape, string] {
  if (one.silent) return ["fail", "silent"];
  if (!one.numbered) return ["wait", "no port numbers"];
  return lost(one) > 0.01 || one.seconds_limited > 0 ? ["wait", "loses samples"] : ["ok", "heard"];
}

function whyOf(one: Agent): string | null {
  if (one.silent) return one.heard_at ? `nothing for ${since(one.heard_at)}` : "never heard";
  if (!one.numbered) return "the ifIndex of its ports is not known: its samples are nobody's";
  if (one.seconds_limited > 0) return `more than it may send in ${one.seconds_limited} s`;
  return lost(one) > 0.01 ? `${(lost(one) * 100).toFixed(1)} % of its samples were lost` : null;
}

const COLUMNS: Column<Agent>[] = [
  {name: "switch", title: "Switch", value: (row) => row.switch, width: "minmax(110px, 1fr)", mono: true, narrow: "title"},
  {name: "state", title: "State", value: (row) => stateOf(row)[1], cell: (row) => <Mark shape={stateOf(row)[0]}>{stateOf(row)[1]}</Mark>, width: "132px", narrow: "state"},
  {name: "why", title: "Why", value: whyOf, cell: (row) => <span class="quiet">{whyOf(row)}</span>, width: "minmax(150px, 2fr)", wide: true, narrow: "sub"},
  {name: "rate", title: "1 frame in", value: (row) => row.sampling_rate, cell: (row) => <span>{row.sampling_rate ? count(row.sampling_rate) : "–"}</span>, width: "92px", number: true},
  {name: "samples", title: "Samples", value: (row) => row.samples, cell: (row) => <span>{count(row.samples)}</span>, width: "104px", number: true},
  {name: "lost", title: "Lost", value: lost, cell: (row) => <span>{(lost(row) * 100).toFixed(1)} %</span>, width: "76px", number: true},
  {name: "factor", title: "Weighed by", value: (row) => row.factor, cell: (row) => <span>{row.factor.toFixed(3)}</span>, width: "96px", number: true, extra: true},
  {name: "discards", title: "Discards", value: (row) => row.discards, cell: (row) => <span>{count(row.discards)}</span>, width: "92px", number: true, wide: true},
  {name: "heard", title: "Heard", value: (row) => row.heard_at, cell: (row) => <span>{row.heard_at ? `${since(row.heard_at)} ago` : "never"}</span>, width: "92px", number: true},
];

function Chosen({one}: {one: Agent}) {
  const why = whyOf(one);
  return (
    <Panel title={<span class="mono">{one.switch}</span>}>
      {why && <Why tone={one.silent ? "fail" : "wait"} said={{message: why, hint: one.silent ? "look whether the switch is told to sample, and whether UDP from it gets here" : undefined}} />}
      <Facts
        rows={[
          ["Heard", one.heard_at ? when(one.heard_at) : "never"],
          ["Sampling", one.sampling_rate ? `1 frame in ${count(one.sampling_rate)}` : "not told yet"],
          ["Datagrams", `${count(one.datagrams)}, ${count(one.datagrams_missing)} missing, ${count(one.datagrams_dropped)} of these in our own queue`],
          ["Samples", `${count(one.samples)}, ${count(one.samples_missing)} lost on the way, ${count(one.samples_dropped)} given up by the switch`],
          ["Weighed by", one.factor.toFixed(3)],
          ["Limited", one.seconds_limited ? `in ${one.seconds_limited} s` : null],
          ["Not read", one.sets_unread ? `${one.sets_unread} sets of NetFlow or IPFIX` : null],
          ["Restarts", one.restarts || null],
        ]}
      />
      {one.discarded.length > 0 && (
        <div>
          <h3>Thrown away, by port and reason</h3>
          <ul class="tidy">{one.discarded.slice(0, 12).map((row) => <li key={`${row.port}${row.reason_number}`}><span class="mono">{row.port ?? (row.if_index ? `ifIndex ${row.if_index}` : "unknown port")}</span> <span class="quiet">{row.reason ?? `reason ${row.reason_number}`}, {count(row.packets)}</span></li>)}</ul>
        </div>
      )}
      <Command line={`haasctl sampling show --switch ${quote(one.switch)}`} />
    </Panel>
  );
}

function Exported() {
  const source = exported();
  const held = useSource(source);
  const shape: Record<string, Shape> = {off: "idle", ok: "ok", failing: "fail"};
  return (
    <section class="panel" aria-label="Kafka">
      <header><h2>Minutes to Kafka</h2></header>
      <Shown held={held} what="the export" again={() => void source.reload()}>
        {(one) => (
          <>
            {one.problem && <Why tone="fail" said={{message: one.problem}} />}
            <Facts
              rows={[
                ["State", <Mark shape={shape[one.state] ?? "idle"}>{one.state}</Mark>],
                ["Brokers", one.brokers && <span class="mono">{one.brokers}</span>],
                ["Written", one.state === "off" ? null : `${count(one.written)} buckets${one.written_at ? `, the last ${when(one.written_at)}` : ""}`],
                ["Waiting", one.waiting ? `${count(one.waiting)} buckets, ${bytes(one.waiting_bytes)}` : null],
                ["Given up", one.given_up ? `${count(one.given_up)} buckets` : null],
              ]}
            />
          </>
        )}
      </Shown>
      <Command line="haasctl sampling export" />
    </section>
  );
}

export function Collector() {
  const source = agents();
  const held = useSource(source);
  const [shown, menu] = useColumns("collector", COLUMNS);
  const list = held.value?.agents ?? [];
  const rows = useShownRows(list, COLUMNS);
  const chosen = list.find((one) => one.switch === query.value.get("at"));
  const refused = held.value ? Object.values(held.value.refused).reduce((sum, one) => sum + Number(one), 0) : 0;
  return (
    <div class={`screen ${held.refusal ? "stale" : ""}`}>
      <Head title="Collector" about="samples of traffic, since it started" held={held} filter="silent leaf1" />
      <Shown held={held} what="what the collector hears" again={() => void source.reload()}>
        {(all) => (
          <>
            <Numbers
              rows={[
                {value: list.filter((one) => !one.silent).length, label: list.length === 1 ? "of 1 switch heard" : `of ${list.length} switches heard`, tone: "ok"},
                {value: list.filter((one) => one.silent).length, label: "silent for a minute", tone: "fail"},
                {value: all.thin_factor === 1 ? "each" : `1 in ${all.thin_factor}`, label: "samples used", ...(all.thin_factor > 1 ? {tone: "wait" as const} : {})},
                {value: refused, label: "datagrams refused", tone: "wait"},
              ]}
            />
            <div class="bar"><div class="end">{menu}</div></div>
            <div class={`body ${chosen ? "split" : ""}`}>
              <Table
                label="Switches that send samples" beside={!!chosen} rows={rows} columns={COLUMNS} shown={shown} keyOf={(row) => row.switch}
                none={<Empty title="No switch is known"><p class="mono">haasctl sampling set --fabric f1 --collector 10.255.0.1</p></Empty>}
              />
              {chosen && <Chosen one={chosen} />}
            </div>
            {refused > 0 && (
              <section class="panel" aria-label="Refused"><header><h2>Refused datagrams</h2></header>
                <Facts rows={(Object.entries(all.refused) as [string, number][]).filter(([, number]) => number > 0).map(([word, number]) => [word.replace(/_/g, " "), count(number)])} />
              </section>
            )}
          </>
        )}
      </Shown>
      <Exported />
      <Command line="haasctl sampling agents" />
    </div>
  );
}
