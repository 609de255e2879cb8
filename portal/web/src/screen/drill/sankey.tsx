// How a place splits, as bands: each is a link to the level of what it is, as thick as its rate, with the bracket of its bound. The numbers are those of the
// table, which says the same without a picture.
import {sankey, sankeyLeft, type SankeyLink, type SankeyNode} from "d3-sankey";
import {useMemo, useRef} from "preact/hooks";
import {useSource} from "../../api/source";
import {Why} from "../../part/panel";
import {byArrows, keepTab, useWidth} from "../../part/picture";
import {clock} from "../../part/time";
import {boundText, percent, rate, type Sums} from "./rate";
import {split as splitSource, type Part, type Split as Whole} from "./split";
import {drillUrl, HEADS, type Spot} from "./url";

const BAR = 8;
const HEAD = 24;
/** Room for two lines of text beside each bar. */
const LINE = 31;
/** Of a column: a rate fits. With its bound it is wider; else the bracket alone says it. */
const NARROWEST = 96;
const BOUNDED = 112;
const LETTER = 7.3;
const HUES = 6;

interface Box {
  part: Part;
  /** From the left; 0 is the whole. */
  column: number;
  /** Its place in the column. */
  at: number;
  hue: string;
}

type Bar = SankeyNode<Box, object>;
type Band = SankeyLink<Box, object>;

/** A hue for each tenant, the largest first; the seventh, and what is nobody's, has none. Below a tenant all is its own. */
function huesOf({columns}: Whole): (part: Part) => string {
  const tenants = [...new Set(columns.flatMap((column) => column.parts.map((part) => part.tenant)).filter((name) => name !== undefined))];
  if (tenants.length < 2) return (part) => (part.tenant ? "own" : "");
  return (part) => {
    const at = part.tenant === undefined ? -1 : tenants.indexOf(part.tenant);
    return at >= 0 && at < HUES ? `hue${at + 1}` : "";
  };
}

function layoutOf(whole: Whole, width: number) {
  const hueOf = huesOf(whole);
  const room = Math.max(132, Math.min(172, width / 4));
  const columns = whole.columns.slice(0, Math.max(1, Math.floor((width - room) / NARROWEST)));
  const root: Part = {name: whole.name, path: undefined, above: "", from: -1, tenant: undefined, sums: whole.total};
  const nodes: Box[] = [{part: root, column: 0, at: 0, hue: ""}];
  const links: {source: number; target: number; value: number}[] = [];
  let first = 0;
  for (const [at, column] of columns.entries()) {
    const next = nodes.length;
    for (const [index, part] of column.parts.entries()) {
      nodes.push({part, column: at + 1, at: index, hue: hueOf(part)});
      if (part.from >= 0) links.push({source: first + part.from, target: next + index, value: part.sums.bytes});
    }
    const other = nodes.length - 1;
    for (const [from, sums] of column.other) links.push({source: first + from, target: other, value: sums.bytes});
    first = next;
  }
  const most = Math.max(...columns.map((column) => column.parts.length));
  const height = HEAD + Math.max(180, most * LINE + 154);
  const gap = columns.length ? (width - room - BAR) / columns.length : 0;
  // The order is the table's.
  const graph = sankey<Box, object>().nodeAlign(sankeyLeft).nodeSort(null as never).linkSort(null as never).nodeWidth(BAR).nodePadding(LINE).iterations(4)
    .extent([[0, HEAD + 12], [width - room, height - 22]])({nodes, links});
  return {...graph, columns, height, gap, room};
}

const short = (text: string, letters: number) => (text.length > letters ? `${text.slice(0, Math.max(1, letters - 1))}…` : text);

function shapeOf(band: Band): string {
  const [from, to] = [band.source as Bar, band.target as Bar];
  const half = band.width! / 2;
  const middle = (from.x1! + to.x0!) / 2;
  const side = (sign: number) => [band.y0! + sign * half, band.y1! + sign * half];
  const [[a, b], [c, d]] = [side(-1), side(1)] as [[number, number], [number, number]];
  return `M${from.x1},${a}C${middle},${a} ${middle},${b} ${to.x0},${b}V${d}C${middle},${d} ${middle},${c} ${from.x1},${c}Z`;
}

function Block({bar}: {bar: Bar}) {
  const {x0 = 0, x1 = 0, y0 = 0, y1 = 0} = bar;
  return <rect x={x0} y={y0} width={x1 - x0} height={Math.max(1, y1 - y0)} data-middle="" />;
}

/** The bracket from its lower to its upper bound, its name and its rate. */
function Label({bar, letters, bound}: {bar: Bar; letters: number; bound: boolean}) {
  const {part, x1 = 0, y0 = 0, y1 = 0} = bar;
  const unit = part.sums.bytes > 0 ? (y1 - y0) / part.sums.bytes : 0;
  const [low, high] = [y0 + unit * part.sums.bytes_low, y0 + unit * part.sums.bytes_high];
  const middle = (y0 + y1) / 2;
  return (
    <>
      {high - low > 2 && <path class="bracket" d={`M${x1 + 1},${low}h4V${high}h-4`} />}
      <text x={x1 + 9} y={middle - 3} class={part.path || bar.column === 0 ? "name" : undefined}>{short(part.name, letters)}</text>
      <text x={x1 + 9} y={middle + 12}>{rate(part.sums.bits_per_second)}{bound && ` ${boundText(part.sums)}`}</text>
    </>
  );
}

const words = (name: string, sums: Sums, whole: Whole) => `${name}: ${rate(sums.bits_per_second)} ${boundText(sums)}, ${percent(whole.total.bytes > 0 ? sums.bytes / whole.total.bytes : 0)} of ${whole.name}`;

function Bands({whole, spot, width}: {whole: Whole; spot: Spot; width: number}) {
  const {nodes, links, columns, height, gap, room} = useMemo(() => layoutOf(whole, width), [whole, width]);
  const bars = nodes as Bar[];
  const roomOf = (bar: Bar) => {
    const pixels = (bar.column === columns.length ? room : gap) - BAR - 12;
    return {letters: Math.floor(pixels / LETTER), bound: pixels >= BOUNDED};
  };
  const sized = (links as Band[]).filter((band) => band.value > 0);
  const first = sized.find((band) => (band.target as Bar).part.path);
  return (
    <svg class="bands" width={width} height={height} role="group" aria-label={`Bands of ${whole.name}`} onKeyDown={byArrows} onFocusIn={keepTab}>
      {columns.map((column, at) => <text key={column.level} class="head" x={(at + 1) * gap} y={12}>{HEADS[column.level]}</text>)}
      {sized.map((band) => {
        const [from, bar] = [band.source as Bar, band.target as Bar];
        const {path} = bar.part;
        const to = path ?? from.part.path;
        const key = `${from.index} ${bar.index}`;
        if (!to) return <g key={key} class="still"><path d={shapeOf(band)} /></g>;
        const text = path ? words(bar.part.name, bar.part.sums, whole) : words(`other of ${from.part.name}`, columns[bar.column - 1]!.other.get(from.at)!, whole);
        return (
          <a key={key} class={bar.hue} href={drillUrl({...spot, path: to})} aria-label={text} tabIndex={band === first ? 0 : -1} data-column={bar.column}>
            <title>{text}</title>
            <path d={shapeOf(band)} />
            {path && <Block bar={bar} />}
            {path && bar.column === columns.length && <rect class="hit" x={bar.x1} y={(bar.y0! + bar.y1!) / 2 - LINE / 2} width={room} height={LINE} />}
          </a>
        );
      })}
      {bars.filter((bar) => !bar.part.path).map((bar) => <g key={bar.index} class="still" data-column={bar.column}><Block bar={bar} /><Label bar={bar} {...roomOf(bar)} /></g>)}
      <g aria-hidden="true">{bars.filter((bar) => bar.part.path).map((bar) => <Label key={bar.index} bar={bar} {...roomOf(bar)} />)}</g>
    </svg>
  );
}

export function Split({spot}: {spot: Spot}) {
  const source = splitSource(spot);
  const held = useSource(source);
  const room = useRef<HTMLDivElement>(null);
  const width = useWidth(room);
  const whole = held.value;
  if (whole && (whole.columns.length === 0 || whole.total.bytes === 0)) return null;
  return (
    <section class={`panel split-panel ${held.refusal && whole ? "stale-values" : ""}`} aria-label="How it splits">
      <header>
        <h2>How it splits</h2>
        {whole && <span class="small quiet">{held.refusal ? "stale since " : "to "}{clock(held.refusal ? held.at : whole.to)}</span>}
      </header>
      <div ref={room}>
        {whole ? width > 0 && <Bands whole={whole} spot={spot} width={width} /> : held.refusal ? <Why tone="wait" said={{message: held.refusal.problem.title ?? "refused", detail: held.refusal.problem.detail, hint: held.refusal.problem.hint}} /> : <p class="quiet" role="status">Reading its parts</p>}
      </div>
      {whole && <p class="small quiet">Each column is all of {rate(whole.total.bits_per_second)}. A band opens its level; a bracket is its bound.</p>}
    </section>
  );
}
