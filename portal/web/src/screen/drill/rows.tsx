// One level of the drill: its largest parts with their bounds, the rest as a row of its own, the sum; beside each what it was in the time before.
import {useRef} from "preact/hooks";
import type {Drill} from "../../api/types";
import {go} from "../../app/route";
import {boundText, changeText, percent, rateParts, type Sums} from "./rate";
import {above, drillUrl, HEADS, named, ROWS, type Spot} from "./url";

export interface Before {
  /** Rate by name; what is not in it was below the smallest row. */
  by: Map<string, number>;
  other: number;
  total: number;
  /** Nothing was collected then. */
  none: boolean;
}

export function beforeOf(level: Drill): Before {
  return {
    by: new Map(level.rows.map((row) => [row.path ?? row.name, row.bits_per_second])), other: level.other.bits_per_second, total: level.total.bits_per_second,
    none: level.seconds === 0,
  };
}

/** The value of the whole, and a bracket from its lower to its upper bound. */
function Gauge({sums, whole}: {sums: Sums; whole: number}) {
  const at = (bytes: number) => `${whole > 0 ? Math.min(100, (100 * bytes) / whole) : 0}%`;
  const wide = whole > 0 ? Math.min(100, (100 * (sums.bytes_high - sums.bytes_low)) / whole) : 0;
  return (
    <span class="gauge" aria-hidden="true">
      <i style={{width: at(sums.bytes)}} />
      {sums.bytes > 0 && <u style={{left: at(sums.bytes_low), width: `${wide}%`}} />}
    </span>
  );
}

function Rate({bits}: {bits: number}) {
  const [value, unit] = rateParts(bits);
  return <>{value} <span class="quiet">{unit}</span></>;
}

function Then({now, then, none}: {now: number; then: number | undefined; none: boolean}) {
  const known = none ? undefined : then;
  return (
    <>
      <td class="number wide quiet">{known === undefined ? "–" : <Rate bits={known} />}</td>
      <td class="number wide">{changeText(now, known)}</td>
    </>
  );
}

interface Props {
  level: Drill;
  spot: Spot;
  before?: Before | undefined;
  /** "5 min". */
  length: string;
}

export function Rows({level, spot, before, length}: Props) {
  const body = useRef<HTMLTableSectionElement>(null);
  const move = (event: KeyboardEvent) => {
    const links = [...(body.current?.querySelectorAll<HTMLElement>("a") ?? [])];
    const at = links.indexOf(document.activeElement as HTMLElement);
    const next: Record<string, () => void> = {
      ArrowDown: () => links[Math.min(links.length - 1, at + 1)]?.focus(),
      ArrowUp: () => links[Math.max(0, at - 1)]?.focus(),
      Home: () => links[0]?.focus(),
      End: () => links[links.length - 1]?.focus(),
      ArrowLeft: () => spot.path && go(drillUrl({...spot, path: above(spot.path)})),
      ArrowRight: () => links[at]?.click(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !next[event.key]) return;
    event.preventDefault();
    next[event.key]!();
  };
  const whole = level.total.bytes_high;
  const line = (name: string, sums: typeof level.other, then: number | undefined) => (
    <>
      <th scope="row">{name}</th>
      <td class="number"><Rate bits={sums.bits_per_second} /></td>
      <td class="number quiet">{boundText(sums)}</td>
      <td class="wide"><Gauge sums={sums} whole={whole} /></td>
      <td class="number">{percent(sums.share)}</td>
      {before && <Then now={sums.bits_per_second} then={then} none={before.none} />}
    </>
  );
  return (
    <section class="panel flush" aria-label={ROWS[level.level]}>
      <div class="scroll">
        <table class="plain drill" onKeyDown={move}>
          <thead>
            <tr>
              <th>{HEADS[level.level]}</th><th class="number">Rate</th><th class="number" title="The truth is inside in 95 of 100 cases">95 %</th><th class="wide"><span class="hidden">Share and bound</span></th>
              <th class="number">Share</th>{before && <><th class="number wide">{length} before</th><th class="number wide">Change</th></>}
            </tr>
          </thead>
          <tbody ref={body}>
            {level.rows.map((row) => (
              <tr key={row.path ?? row.name} onClick={(event) => row.path && !(event.target as Element).closest("a") && go(drillUrl({...spot, path: row.path}))}>
                <td>
                  {row.path ? <a class="mono" href={drillUrl({...spot, path: row.path})}>{nameOf(level, row)}</a> : <span class="mono">{row.name}</span>}
                  {row.network && <span class="quiet small"> {row.network}</span>}
                </td>
                <td class="number"><Rate bits={row.bits_per_second} /></td>
                <td class="number quiet">{boundText(row)}</td>
                <td class="wide"><Gauge sums={row} whole={whole} /></td>
                <td class="number">{percent(row.share)}</td>
                {before && <Then now={row.bits_per_second} then={before.by.get(row.path ?? row.name) ?? (before.none ? undefined : 0)} none={before.none} />}
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr class="quiet">{line("other", level.other, before?.other)}</tr>
            <tr>{line("all", level.total, before?.total)}</tr>
          </tfoot>
        </table>
      </div>
    </section>
  );
}

/** Without the words that the level above says already. */
export function nameOf(level: Drill, row: Drill["rows"][number]): string {
  if (level.level !== "owner" || !row.path) return row.name;
  return named(row.path, "vlan")[0] ?? row.name;
}
