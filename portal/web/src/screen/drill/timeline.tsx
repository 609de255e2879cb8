// The place over time: its rate with the bound of each step, alerts and captures as marks. A span that is dragged is a window one click away.
import {useMemo} from "preact/hooks";
import {useSource} from "../../api/source";
import type {Alert, Capture, DrillSeries} from "../../api/types";
import {Why} from "../../part/panel";
import {brush, Series, type Marker} from "../../part/series";
import {clock} from "../../part/time";
import {capturesHref} from "../captures/actions";
import {rate} from "./rate";
import {series as seriesSource} from "./sources";
import {drillUrl, stamp, type Spot} from "./url";

/** Where nothing was collected the line breaks. */
function columnsOf(series: DrillSeries) {
  const at: number[] = [];
  const values: (number | null)[] = [];
  const low: (number | null)[] = [];
  const high: (number | null)[] = [];
  const put = (second: number, index?: number) => {
    at.push(second);
    values.push(index === undefined ? null : series.bits_per_second[index] ?? null);
    low.push(index === undefined ? null : series.low[index] ?? null);
    high.push(index === undefined ? null : series.high[index] ?? null);
  };
  series.at.forEach((begin, index) => {
    const before = series.at[index - 1];
    const step = series.seconds[index] === 1 && series.seconds[index - 1] === 1 ? 1 : Math.max(60, series.step);
    if (before !== undefined && begin - before > 1.5 * step) put(before + step);
    put(begin, index);
  });
  // The last step has a width too: its value holds until its end.
  const end = Date.parse(series.to) / 1000;
  if (at.length > 0 && end - at[at.length - 1]! > 1) put(end, series.at.length - 1);
  return {at, lines: [{name: "rate", values, low, high}]};
}

/** Until when a brush reaches, as a place of the drill. */
function Brushed({spot}: {spot: Spot}) {
  const span = brush.value;
  if (!span) return null;
  const seconds = Math.max(1, Math.min(99999, Math.round(span.to - span.from)));
  const url = drillUrl({path: spot.path, at: stamp(Math.round(span.to) * 1000), window: `${seconds}s`});
  return <a class="button" href={url} onClick={() => (brush.value = undefined)}>Look at {clock(span.from * 1000)} to {clock(span.to * 1000)}</a>;
}

interface Props {
  spot: Spot;
  alerts: Alert[];
  captures: Capture[];
  /** The speed of the link, when it is one. */
  most: number;
}

export function Timeline({spot, alerts, captures, most}: Props) {
  const source = seriesSource(spot);
  const held = useSource(source);
  const series = held.value;
  const drawn = useMemo(() => series && columnsOf(series), [series]);
  const markers = useMemo(() => {
    if (!series) return [];
    const inside = (at: string | null): at is string => !!at && Date.parse(at) >= Date.parse(series.from) && Date.parse(at) <= Date.parse(series.to);
    const seen: Marker[] = alerts.filter((one) => inside(one.raised_at)).map((one) => ({at: Date.parse(one.raised_at) / 1000, text: one.message, tone: "fail", href: `/alerts?state=all&at=${one.id}`}));
    const taken: Marker[] = captures.filter((one) => inside(one.started_at)).map((one) => ({at: Date.parse(one.started_at!) / 1000, text: `capture ${one.id} begins`, tone: "work", href: capturesHref(one.id)}));
    return [...seen, ...taken];
  }, [series, alerts, captures]);
  if (held.refusal && !series) return <Why tone="wait" said={{message: held.refusal.problem.title ?? "refused", detail: held.refusal.problem.detail, hint: held.refusal.problem.hint}} />;
  if (!drawn) return <div class="plot-room" role="status">Reading its time line</div>;
  if (drawn.at.length === 0) return null;
  return (
    <section class="panel timeline" aria-label="Over time">
      <Series label="Rate over time" {...drawn} format={rate} markers={markers} height={150} {...(most > 0 ? {most} : {})} />
      <Brushed spot={spot} />
    </section>
  );
}
