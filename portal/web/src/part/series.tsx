// Values over time, one filled, with marks of what happened. All series of a page share one cursor and one brush: a span that is dragged, or made by Shift and
// the arrows. uPlot comes when the first one is shown.
import {signal} from "@preact/signals";
import {useEffect, useRef, useState} from "preact/hooks";
import type uPlot from "uplot";
import {paint, repaint, thin} from "./paint";
import {clock, when} from "./time";

export interface Line {
  name: string;
  values: (number | null)[];
  /** The least and the most of each step: a band around the line. */
  low?: (number | null)[];
  high?: (number | null)[];
}

export interface Marker {
  /** Seconds since 1970. */
  at: number;
  text: string;
  tone?: "work" | "wait" | "fail";
  href?: string;
}

export interface SeriesProps {
  /** What it is of: "Load of leaf1:up0". */
  label: string;
  /** Seconds since 1970, one a value. */
  at: number[];
  /** The first is filled; more are thin lines. */
  lines: Line[];
  format: (value: number) => string;
  markers?: Marker[];
  /** A line across: the capacity. */
  most?: number;
  height?: number;
}

/** The span that the page's series have chosen, in seconds since 1970. */
export const brush = signal<{from: number; to: number} | undefined>(undefined);

const COLOURS = ["work", "ok", "wait", "quiet"];
const TONES = {work: "work", wait: "wait", fail: "fail"};
const FONT = "11px system-ui, sans-serif";

/** What a person who does not see the line is told, and what stands beside it. */
export function summary(line: Line, at: number[], format: (value: number) => string): string {
  let most = -1;
  let sum = 0;
  let known = 0;
  line.values.forEach((value, index) => {
    if (value === null) return;
    sum += value;
    known++;
    if (most < 0 || value > line.values[most]!) most = index;
  });
  if (most < 0) return `${line.name}: no values`;
  return `${line.name}: mean ${format(sum / known)}, most ${format(line.high?.[most] ?? line.values[most]!)} at ${clock(at[most]! * 1000)}`;
}

/** The columns of uPlot: each line, and the edges of its band behind it. */
function columnsOf({at, lines}: SeriesProps): uPlot.AlignedData {
  return [at, ...lines.flatMap((line) => (line.low && line.high ? [line.values, line.high, line.low] : [line.values]))] as uPlot.AlignedData;
}

function drawMarkers(plot: uPlot, markers: Marker[]) {
  const {ctx, bbox} = plot;
  const unit = devicePixelRatio;
  ctx.save();
  for (const marker of markers) {
    const x = plot.valToPos(marker.at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ctx.fillStyle = paint(TONES[marker.tone ?? "wait"]);
    ctx.lineWidth = unit;
    ctx.setLineDash([3 * unit, 3 * unit]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x - 5 * unit, bbox.top);
    ctx.lineTo(x + 5 * unit, bbox.top);
    ctx.lineTo(x, bbox.top + 8 * unit);
    ctx.fill();
  }
  ctx.restore();
}

function optionsOf(props: {current: SeriesProps}, width: number, onCursor: (index: number | null) => void): uPlot.Options {
  const {lines} = props.current;
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  lines.forEach((line, at) => {
    const colour = COLOURS[at % COLOURS.length]!;
    series.push({label: line.name, stroke: () => paint(colour), width: at === 0 ? 1.5 : 1, points: {show: false}, ...(at === 0 ? {fill: () => thin(colour, 0.12)} : {})});
    if (!line.low || !line.high) return;
    bands.push({series: [series.length, series.length + 1], fill: () => thin(colour, 0.25)});
    for (const name of ["high", "low"]) series.push({label: `${line.name} ${name}`, width: 0, points: {show: false}});
  });
  const axis = {stroke: () => paint("quiet"), grid: {stroke: () => paint("line"), width: 1}, ticks: {stroke: () => paint("line"), width: 1, size: 4}, font: FONT};
  return {
    width, height: props.current.height ?? 180, series, bands, legend: {show: false},
    cursor: {sync: {key: "page"}, points: {size: 6}, drag: {x: true, y: false, setScale: false}},
    scales: {y: {range: (_plot, _low, high) => [0, Math.max(high, props.current.most ?? 0) * 1.05 || 1]}},
    axes: [
      {...axis, size: 26, values: (_plot, splits) => splits.map((at) => clock(at * 1000).slice(0, splits.length > 1 && splits[1]! - splits[0]! < 60 ? 8 : 5))},
      {...axis, size: 86, values: (_plot, splits) => splits.map((value) => props.current.format(value))},
    ],
    hooks: {
      setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)],
      setSelect: [
        (plot) => {
          const {left, width: wide} = plot.select;
          brush.value = wide > 2 ? {from: plot.posToVal(left, "x"), to: plot.posToVal(left + wide, "x")} : undefined;
        },
      ],
      draw: [
        (plot) => {
          const {most, markers} = props.current;
          if (most) {
            const y = plot.valToPos(most, "y", true);
            plot.ctx.save();
            plot.ctx.strokeStyle = paint("fail");
            plot.ctx.setLineDash([6, 4]);
            plot.ctx.beginPath();
            plot.ctx.moveTo(plot.bbox.left, y);
            plot.ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
            plot.ctx.stroke();
            plot.ctx.restore();
          }
          drawMarkers(plot, markers ?? []);
        },
      ],
    },
  };
}

/** The brush as this plot's selection. */
function showBrush(plot: uPlot) {
  const span = brush.peek();
  const left = span ? Math.max(0, plot.valToPos(span.from, "x")) : 0;
  const right = span ? Math.min(plot.over.clientWidth, plot.valToPos(span.to, "x")) : 0;
  plot.setSelect({left, width: Math.max(0, right - left), top: 0, height: plot.over.clientHeight}, false);
}

function Readout({props, index}: {props: SeriesProps; index: number | null}) {
  const span = brush.value;
  return (
    <figcaption class="readout">
      {index === null || props.at[index] === undefined ? props.lines.map((line) => <span key={line.name}>{summary(line, props.at, props.format)}</span>) : (
        <>
          <time>{when(props.at[index]! * 1000)}</time>
          {props.lines.map((line) => {
            const value = line.values[index];
            const [low, high] = [line.low?.[index], line.high?.[index]];
            return (
              <span key={line.name}>
                {line.name} <b>{value === null || value === undefined ? "not known" : props.format(value)}</b>
                {low !== null && low !== undefined && high !== null && high !== undefined && low !== high && ` (${props.format(low)} to ${props.format(high)})`}
              </span>
            );
          })}
        </>
      )}
      {span && (
        <span class="end">
          {clock(span.from * 1000)} to {clock(span.to * 1000)}
          <button type="button" class="button bare" aria-label="Forget the span" onClick={() => (brush.value = undefined)}>✕</button>
        </span>
      )}
    </figcaption>
  );
}

export function Series(props: SeriesProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const latest = useRef(props);
  latest.current = props;
  const [index, setIndex] = useState<number | null>(null);
  const [failed, setFailed] = useState(false);
  const shape = props.lines.map((line) => `${line.name}${line.low ? "+" : ""}`).join();

  useEffect(() => {
    let gone = false;
    const endings: (() => void)[] = [];
    import("uplot")
      .then(({default: Plot}) => {
        const element = host.current;
        if (gone || !element) return;
        const made = new Plot(optionsOf(latest, element.clientWidth, setIndex), columnsOf(latest.current), element);
        plot.current = made;
        const observer = new ResizeObserver(() => {
          made.setSize({width: element.clientWidth, height: latest.current.height ?? 180});
          showBrush(made);
        });
        observer.observe(element);
        endings.push(() => observer.disconnect(), brush.subscribe(() => showBrush(made)), repaint.subscribe(() => made.redraw(false)), () => made.destroy());
      })
      .catch(() => !gone && setFailed(true));
    return () => {
      gone = true;
      for (const end of endings) end();
      plot.current = undefined;
    };
  }, [shape]);

  useEffect(() => {
    plot.current?.setData(columnsOf(props));
    if (plot.current) showBrush(plot.current);
  }, [props.at, props.lines, props.markers, props.most]);

  const onKeyDown = (event: KeyboardEvent) => {
    const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity}[event.key];
    if (event.key === "Escape") brush.value = undefined;
    if (step === undefined || !plot.current) return;
    event.preventDefault();
    const last = props.at.length - 1;
    const from = index ?? (step > 0 ? -1 : last + 1);
    const next = Math.max(0, Math.min(last, from + step));
    const at = props.at[next];
    if (at === undefined) return;
    plot.current.setCursor({left: plot.current.valToPos(at, "x"), top: 10});
    setIndex(next);
    if (event.shiftKey) {
      const begin = props.at[Math.max(0, from)] ?? at;
      const held = brush.peek();
      const other = held ? (Math.abs(held.from - begin) < Math.abs(held.to - begin) ? held.to : held.from) : begin;
      brush.value = {from: Math.min(other, at), to: Math.max(other, at)};
    }
  };

  if (failed) return <p class="note wait">The drawing of series could not be loaded; load the page again.</p>;
  return (
    <figure class="series" aria-label={props.label}>
      <div
        class="plot" ref={host} tabIndex={0} role="img" style={{minHeight: `${props.height ?? 180}px`}} onKeyDown={onKeyDown} onBlur={() => setIndex(null)}
        aria-label={`${props.label}. ${props.lines.map((line) => summary(line, props.at, props.format)).join(". ")}`}
      />
      <Readout props={props} index={index} />
      {!!props.markers?.length && (
        <ul class="markers">
          {props.markers.map((one) => (
            <li key={`${one.at}${one.text}`}><time>{when(one.at * 1000)}</time> {one.href ? <a href={one.href}>{one.text}</a> : one.text}</li>
          ))}
        </ul>
      )}
    </figure>
  );
}
