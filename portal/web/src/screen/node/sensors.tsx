// Sensors as the BMC was last read, with their last day: a small line each, and one of them large.
import {useMemo} from "preact/hooks";
import {useSource, type Held} from "../../api/source";
import type {NodeHealth, SensorSeries} from "../../api/types";
import {query, setWords} from "../../app/route";
import {Command, quote} from "../../part/command";
import {Mark, type Shape} from "../../part/mark";
import {Shown} from "../../part/screen";
import {Series, type Marker} from "../../part/series";
import {when} from "../../part/time";
import {nodeSeries} from "./sources";

type Sensor = NodeHealth["sensors"][number];
type Told = SensorSeries["sensors"][number];

const SHAPE: Record<string, Shape> = {nominal: "ok", warning: "wait", critical: "fail"};
const UNIT: Record<string, string> = {C: "°C", "degrees C": "°C", Celsius: "°C", RPM: "rpm", Watts: "W", Volts: "V", Amps: "A"};
const RANK: Record<string, number> = {critical: 0, warning: 1};
const WIDE = 112;
const HIGH = 20;

const unitOf = (unit: string) => UNIT[unit] ?? unit;
const round = (value: number) => (Math.abs(value) >= 100 ? String(Math.round(value)) : String(Math.round(value * 10) / 10));
const keyOf = (one: {name: string; number: number}) => `${one.name}:${one.number}`;

/** A line without axes: where it went, and how high. A part without a reading is a gap. */
function Spark({told}: {told: Told}) {
  const known = told.mean.filter((value): value is number => value !== null);
  const low = Math.min(...known);
  const span = Math.max(...known) - low || 1;
  const last = told.mean.length - 1 || 1;
  let path = "";
  told.mean.forEach((value, at) => {
    if (value === null) return;
    path += `${path === "" || told.mean[at - 1] === null ? "M" : "L"}${((at / last) * WIDE).toFixed(1)} ${(HIGH - 2 - ((value - low) / span) * (HIGH - 4)).toFixed(1)}`;
  });
  return <svg class="spark" width={WIDE} height={HIGH} viewBox={`0 0 ${WIDE} ${HIGH}`} aria-hidden="true"><path d={path} /></svg>;
}

function Large({told, series, marks}: {told: Told; series: SensorSeries; marks: Marker[]}) {
  const from = new Date(series.from_at).getTime() / 1000;
  const at = useMemo(() => told.mean.map((_, index) => from + (index + 0.5) * series.step_s), [series, told]);
  const lines = useMemo(() => [{name: told.name, values: told.mean, low: told.least, high: told.most}], [told]);
  return (
    <div class="pad">
      <Series label={`${told.name} during the last day`} at={at} lines={lines} markers={marks} height={150} format={(value) => `${round(value)} ${unitOf(told.unit)}`} />
    </div>
  );
}

function Row({one, told, chosen}: {one: Sensor; told: Told | undefined; chosen: boolean}) {
  const known = told?.mean.some((value) => value !== null);
  return (
    <tr class={chosen ? "chosen" : ""}>
      <td>{known ? <button type="button" class="link" aria-pressed={chosen} onClick={() => setWords({sensor: chosen ? undefined : keyOf(one)})}>{one.name}</button> : one.name}</td>
      <td class="number">{one.reading === null ? "–" : one.reading} <span class="quiet">{unitOf(one.unit)}</span></td>
      <td class="wide">{told && known ? <Spark told={told} /> : <span class="quiet small">not kept yet</span>}</td>
      <td class="number wide quiet">{told && known ? `${round(Math.min(...told.least.filter((value): value is number => value !== null)))} to ${round(Math.max(...told.most.filter((value): value is number => value !== null)))}` : ""}</td>
      <td><Mark shape={SHAPE[one.state] ?? "idle"}>{one.state}</Mark></td>
    </tr>
  );
}

export function Sensors({held, again}: {held: Held<NodeHealth>; again: () => void}) {
  return (
    <section class="panel flush" aria-label="Sensors">
      <header><h2>Sensors</h2><span class="quiet small">{held.value?.sensors_at ? `read ${when(held.value.sensors_at)}` : ""}</span></header>
      <Shown held={held} what="its sensors" again={again}>
        {(health) => (health.sensors.length === 0 ? <p class="quiet small pad">Its sensors were not read yet: <span class="mono">haasctl node sensors {quote(health.node)}</span></p> : <Told health={health} />)}
      </Shown>
    </section>
  );
}

function Told({health}: {health: NodeHealth}) {
  const series = useSource(nodeSeries(health.node));
  const told = new Map(series.value?.sensors.map((one) => [keyOf(one), one]));
  const rows = [...health.sensors].sort((a, b) => (RANK[a.state] ?? 2) - (RANK[b.state] ?? 2));
  const word = query.value.get("sensor");
  const chosen = rows.find((one) => keyOf(one) === word) ?? rows.find((one) => told.get(keyOf(one))?.mean.some((value) => value !== null));
  const large = chosen && told.get(keyOf(chosen));
  const marks = useMemo(() => health.labels.map((one): Marker => ({at: new Date(one.raised_at).getTime() / 1000, text: one.label, tone: one.severity === "critical" ? "fail" : "wait"})), [health.labels]);
  return (
    <>
      {series.refusal && !series.value && <p class="note wait pad" role="alert">Their last day could not be read: {series.refusal.problem.title}</p>}
      {large && series.value && <Large key={keyOf(large)} told={large} series={series.value} marks={marks} />}
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of sensors">
        <table class="plain">
          <thead><tr><th>Sensor</th><th class="number">Reading</th><th class="wide">Last day</th><th class="number wide">Least to most</th><th>State</th></tr></thead>
          <tbody>{rows.map((one) => <Row key={keyOf(one)} one={one} told={told.get(keyOf(one))} chosen={one === chosen && !!large} />)}</tbody>
        </table>
      </div>
      <div class="pad"><Command line={`haasctl node series ${quote(health.node)}${word && large ? ` --sensor ${quote(large.name)}` : ""}`} /></div>
    </>
  );
}
