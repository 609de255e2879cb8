// The fleet as an area: each cell is a link to its nodes in the list, as large as they are many. What a cell is it says by name; the ground says how it is used.
import {hierarchy, treemap, type HierarchyRectangularNode} from "d3-hierarchy";
import {useMemo, useRef} from "preact/hooks";
import {byArrows, keepTab, useWidth} from "../../part/picture";
import {count} from "../../part/time";
import type {ClassShare, Share, Use} from "./fleet";

const HEAD = 18;
/** What a name needs to be read. */
const NAMED = {width: 34, height: 17};

interface Whole {
  name: string;
  nodes: number;
  children: (ClassShare & {children: Share[]})[];
}
type Cell = HierarchyRectangularNode<Whole | ClassShare | Share>;

const USES: [use: Use, title: string][] = [["rented", "rented"], ["free", "free"], ["out", "not to be had"]];

function layoutOf(classes: ClassShare[], width: number, height: number): Cell[] {
  const whole = {name: "", nodes: 0, children: classes.map((one) => ({...one, children: one.shares}))};
  const root = hierarchy<Whole | ClassShare | Share>(whole, (one) => ("children" in one ? (one.children as (ClassShare | Share)[]) : undefined)).sum((one) => ("use" in one ? one.nodes : 0));
  return treemap<Whole | ClassShare | Share>().size([width, height]).paddingInner(2).paddingTop((one) => (one.depth === 1 && one.y1 - one.y0 > 2 * HEAD ? HEAD : 0)).round(true)(root).descendants();
}

export function Treemap({classes}: {classes: ClassShare[]}) {
  const room = useRef<HTMLDivElement>(null);
  const width = useWidth(room);
  const height = width < 420 ? 240 : 210;
  const cells = useMemo(() => (width > 0 ? layoutOf(classes, width, height).filter((cell) => cell.depth > 0) : []), [classes, width, height]);
  return (
    <figure class="fleet" aria-label="Nodes by class and use">
      <div class="area" ref={room} style={{height: `${height}px`}} onKeyDown={byArrows} onFocusIn={keepTab}>
        {cells.map((cell, at) => {
          const one = cell.data as ClassShare | Share;
          const of = cell.depth > 1 ? (cell.parent!.data as ClassShare) : undefined;
          const [wide, tall] = [cell.x1 - cell.x0, of ? cell.y1 - cell.y0 : HEAD];
          const says = of ? `${one.name} ${count(one.nodes)} of ${count(of.nodes)} nodes of class ${of.name}` : `${one.name} ${count(one.nodes)} nodes`;
          if (wide < 1 || tall < 1 || (!of && cell.y1 - cell.y0 <= 2 * HEAD)) return null;
          return (
            <a
              key={of ? `${of.name}/${"use" in one ? one.use : ""}/${one.name}` : one.name} class={"use" in one ? `use is-${one.use}` : "class"} href={`/nodes?q=${encodeURIComponent(one.words)}`}
              aria-label={says} title={says} tabIndex={at === 0 ? 0 : -1} style={{left: `${cell.x0}px`, top: `${cell.y0}px`, width: `${wide}px`, height: `${tall}px`}}
            >
              {wide >= NAMED.width && tall >= NAMED.height && <span>{one.name} <b>{count(one.nodes)}</b></span>}
            </a>
          );
        })}
      </div>
      <figcaption>{USES.map(([use, title]) => <span key={use}><i class={`use is-${use}`} />{title}</span>)}</figcaption>
    </figure>
  );
}
