// A table of many rows: only those in sight are drawn. Sorted, filtered and chosen by the address, its columns kept for the person. Arrows move, Enter
// opens, space picks. On a narrow screen a row has two lines.
import {signal} from "@preact/signals";
import {Component, type ComponentChildren} from "preact";
import {useEffect, useMemo, useRef, useState} from "preact/hooks";
import {hidden as own, keepOwn} from "../app/own";
import {go, query, setWords} from "../app/route";
import {filterOf} from "./filter";

export interface Column<T> {
  name: string;
  title: string;
  /** For the filter and the order; a number sorts as one. */
  value: (row: T) => string | number | boolean | null;
  cell?: (row: T) => ComponentChildren;
  /** In the second line of a narrow row, where the value is not for people. */
  text?: (row: T) => string;
  /** Of a grid column: "minmax(90px, 1fr)". */
  width: string;
  number?: boolean;
  mono?: boolean;
  /** Gives way to the panel, which says it too. */
  wide?: boolean;
  /** At first not shown. */
  extra?: boolean;
  /** On a narrow screen: left and right of the first line, and the second. */
  narrow?: "title" | "state" | "sub";
}

interface Props<T> {
  label: string;
  rows: T[];
  columns: Column<T>[];
  keyOf: (row: T) => string;
  /** Where Enter leads. */
  hrefOf?: (row: T) => string;
  /** Picked rows, for actions on many; without it none can be. */
  picked?: Set<string>;
  onPick?: (picked: Set<string>) => void;
  /** A panel stands beside it. */
  beside?: boolean;
  /** Rows of one group stand together, under its name (useGroups). */
  groups?: Group[];
  none: ComponentChildren;
}

export interface Group {
  name: string;
  count: number;
  /** Of its first row. */
  at: number;
}

const narrowQuery = window.matchMedia("(max-width: 600px)");
const narrow = signal(narrowQuery.matches);
narrowQuery.addEventListener("change", () => (narrow.value = narrowQuery.matches));
const coarse = window.matchMedia("(pointer: coarse)").matches;

const collator = new Intl.Collator("en", {numeric: true});
/** leaf7, leaf11, leaf12. */
export const natural = collator.compare;
const BESIDE = 8;

type Value = string | number | boolean | null;

function compare(a: Value, b: Value): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
}

/** Rows that the words of the address let through, in their order. */
export function useShownRows<T>(rows: T[], columns: Column<T>[]): T[] {
  const words = query.value.get("q") ?? "";
  const sort = query.value.get("sort") ?? "";
  return useMemo(() => {
    const left = words ? rows.filter(filterOf(words, columns)) : rows;
    const column = columns.find((one) => one.name === sort.replace(/^-/, ""));
    if (!column) return left;
    const sign = sort.startsWith("-") ? -1 : 1;
    return [...left].sort((a, b) => sign * compare(column.value(a), column.value(b)));
  }, [rows, words, sort, columns]);
}

/** The rows by one column's value, groups in its order and rows as they came; "" leaves them. */
export function useGroups<T>(rows: T[], column: Column<T> | undefined): [T[], Group[] | undefined] {
  return useMemo(() => {
    if (!column) return [rows, undefined];
    const by = new Map<string, T[]>();
    for (const row of rows) {
      const name = String(column.value(row) ?? "");
      const group = by.get(name);
      if (group) group.push(row);
      else by.set(name, [row]);
    }
    const names = [...by.keys()].sort((a, b) => compare(a || null, b || null));
    let at = 0;
    const groups = names.map((name) => {
      const count = by.get(name)!.length;
      at += count;
      return {name, count, at: at - count};
    });
    return [names.flatMap((name) => by.get(name)!), groups];
  }, [rows, column]);
}

/** How many heads of groups stand above a row, its own included. */
function headsAbove(groups: Group[], row: number): number {
  let low = 0;
  let high = groups.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (groups[middle]!.at <= row) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Which columns are shown: kept for the person under the table's name. */
export function useColumns<T>(table: string, columns: Column<T>[]): [Column<T>[], ComponentChildren] {
  const kept = own.value[table];
  const hidden = useMemo(() => kept ?? columns.filter((one) => one.extra).map((one) => one.name), [kept, columns]);
  const shown = useMemo(() => columns.filter((one, at) => at === 0 || !hidden.includes(one.name)), [columns, hidden]);
  const toggle = (name: string) => keepOwn({hidden: {[table]: hidden.includes(name) ? hidden.filter((one) => one !== name) : [...hidden, name]}});
  const menu = (
    <details class="menu">
      <summary class="button">Columns</summary>
      <div>
        {columns.slice(1).map((one) => (
          <label key={one.name}><input type="checkbox" checked={!hidden.includes(one.name)} onChange={() => toggle(one.name)} />{one.title}</label>
        ))}
      </div>
    </details>
  );
  return [shown, menu];
}

interface RowProps<T> {
  row: T;
  at: number;
  props: Props<T>;
  columns: Column<T>[];
  chosen: boolean;
  slim: boolean;
  top: number;
  height: number;
  /** Another one when the table was drawn for more than a scroll. */
  round: object;
}

/** While the table scrolls, rows that stay in sight are not drawn anew. */
class Row<T> extends Component<RowProps<T>> {
  shouldComponentUpdate(next: RowProps<T>, state: unknown) {
    const {round, row, at, columns, chosen, slim, top, height} = this.props;
    return state !== this.state || next.round !== round || next.row !== row || next.at !== at || next.columns !== columns || next.chosen !== chosen || next.slim !== slim || next.top !== top || next.height !== height;
  }

  render({row, at, props, columns, chosen, slim, top, height}: RowProps<T>) {
    const key = props.keyOf(row);
    const pick = () => {
      const next = new Set(props.picked);
      if (!next.delete(key)) next.add(key);
      props.onPick?.(next);
    };
    // Most cells are words alone: a box of lines costs less than a flexible one.
    const cell = (key: string, column: Column<T> | undefined) => {
      const body = column && (column.cell ? column.cell(row) : column.value(row) ?? "–");
      const plain = typeof body === "string" || typeof body === "number";
      return <div key={key} role="gridcell" class={`td ${plain ? "plain " : ""}${column?.number && !slim ? "number " : ""}${column?.mono ? "mono" : ""}`}>{body}</div>;
    };
    const style = {top: `${top}px`, height: `${height}px`};
    return (
      <div class="tr" role="row" id={`row-${key}`} aria-rowindex={at + 2} aria-selected={chosen} style={style} onClick={() => setWords({at: key})}>
        {props.picked && !slim && (
          <div class="td" role="gridcell" onClick={(event) => event.stopPropagation()}>
            <input type="checkbox" aria-label={`Pick ${key}`} tabIndex={-1} checked={props.picked.has(key)} onChange={pick} />
          </div>
        )}
        {slim ? (
          <>
            {(["title", "state"] as const).map((part) => cell(part, columns.find((one) => one.narrow === part)))}
            <div role="gridcell" class="td sub">{columns.filter((one) => one.narrow === "sub").map((one) => one.text?.(row) ?? one.value(row)).filter((value) => value !== null && value !== "").join(" · ")}</div>
          </>
        ) : (
          columns.map((column) => cell(column.name, column))
        )}
      </div>
    );
  }
}

function Heads<T>({props, columns}: {props: Props<T>; columns: Column<T>[]}) {
  const sort = query.value.get("sort") ?? "";
  const all = props.rows.length > 0 && props.picked?.size === props.rows.length;
  return (
    <div class={narrow.value ? "hidden" : "thead"} role="rowgroup">
      <div class="tr" role="row" aria-rowindex={1}>
        {props.picked && !narrow.value && (
          <div class="th" role="columnheader">
            <input
              type="checkbox" aria-label={`Pick all ${props.rows.length}`} checked={all}
              onChange={() => props.onPick?.(all ? new Set() : new Set(props.rows.map(props.keyOf)))}
            />
          </div>
        )}
        {columns.map((column) => {
          const order = sort === column.name ? "ascending" : sort === `-${column.name}` ? "descending" : undefined;
          const next = order === "ascending" ? `-${column.name}` : order ? undefined : column.name;
          return (
            <div key={column.name} role="columnheader" class={`th ${column.number ? "number" : ""}`} aria-sort={order ?? "none"}>
              <button type="button" onClick={() => setWords({sort: next})}>
                {column.title}{order && (order === "ascending" ? " ↑" : " ↓")}
              </button>
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** `props.rows` are those to show, in their order (useShownRows). */
export function Table<T>(given: Props<T> & {shown: Column<T>[]}) {
  const {shown, ...props} = given; // the same object when only its own state has changed
  const columns = useMemo(() => (props.beside ? shown.filter((one) => !one.wide) : shown), [props.beside, shown]);
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({top: 0, height: 600});
  const height = narrow.value ? 56 : coarse ? 40 : 33;
  const chosen = query.value.get("at");
  const index = chosen === null ? -1 : props.rows.findIndex((row) => props.keyOf(row) === chosen);
  const groups = props.groups ?? [];
  const lineOf = (row: number) => row + headsAbove(groups, row);
  const shownGroups = groups.length;
  // Lines are rows and heads; a row stands at most as many lines below its number as there are groups.
  const first = Math.max(0, Math.floor(view.top / height) - BESIDE - shownGroups);
  const last = Math.min(props.rows.length, Math.ceil((view.top + view.height) / height) + BESIDE);
  const inSight = (line: number) => line >= Math.floor(view.top / height) - BESIDE && line <= Math.ceil((view.top + view.height) / height) + BESIDE;

  useEffect(() => {
    const element = box.current!;
    const look = () => setView({top: element.scrollTop, height: element.clientHeight});
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, {passive: true});
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);

  const choose = (to: number) => {
    const row = props.rows[Math.max(0, Math.min(props.rows.length - 1, to))];
    if (!row) return;
    setWords({at: props.keyOf(row)});
    const top = lineOf(props.rows.indexOf(row)) * height;
    const element = box.current!;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + 2 * height > element.scrollTop + element.clientHeight) element.scrollTop = top + 2 * height - element.clientHeight;
  };
  const page = Math.max(1, Math.floor(view.height / height) - 2);
  const moves: Record<string, () => void> = {
    ArrowDown: () => choose(index + 1),
    ArrowUp: () => choose(index < 0 ? 0 : index - 1),
    PageDown: () => choose(index + page),
    PageUp: () => choose(index - page),
    Home: () => choose(0),
    End: () => choose(props.rows.length - 1),
    Escape: () => setWords({at: undefined}),
    Enter: () => {
      const row = props.rows[index];
      if (row && props.hrefOf) go(props.hrefOf(row));
    },
    " ": () => {
      const row = props.rows[index];
      if (!row || !props.picked) return;
      const next = new Set(props.picked);
      if (!next.delete(props.keyOf(row))) next.add(props.keyOf(row));
      props.onPick?.(next);
    },
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = event.target === box.current && !event.ctrlKey && !event.metaKey && !event.altKey ? moves[event.key] : undefined;
    if (!move) return;
    event.preventDefault();
    move();
  };
  const widths = `${props.picked ? "38px " : ""}${columns.map((one) => one.width).join(" ")}`;
  return (
    <div
      class={`table ${narrow.value ? "narrow" : ""}`} role="grid" aria-label={props.label} aria-rowcount={props.rows.length + 1} tabIndex={0} ref={box}
      aria-activedescendant={index >= first && index < last ? `row-${chosen}` : undefined} onKeyDown={onKeyDown}
      style={{"--columns": widths, "--least": narrow.value ? "0" : `${columns.length * 78}px`}}
    >
      <Heads props={props} columns={columns} />
      {props.rows.length === 0 ? (
        <div role="rowgroup"><div role="row"><div role="gridcell" class="none">{props.none}</div></div></div>
      ) : (
        <div class="rows" role="rowgroup" style={{height: `${(props.rows.length + groups.length) * height}px`}}>
          {groups.map((group, at) => inSight(group.at + at) && (
            <div class="tr group" role="row" key={`group ${group.name}`} style={{top: `${(group.at + at) * height}px`, height: `${height}px`}}>
              <div class="td" role="gridcell" aria-colspan={columns.length + (props.picked ? 1 : 0)}><b>{group.name || "none"}</b><span class="quiet">{group.count}</span></div>
            </div>
          ))}
          {props.rows.slice(first, last).map((row, at) => inSight(lineOf(first + at)) && (
            <Row
              key={props.keyOf(row)} row={row} at={first + at} props={props} columns={narrow.value ? props.columns : columns}
              chosen={first + at === index} slim={narrow.value} top={lineOf(first + at) * height} height={height} round={given}
            />
          ))}
        </div>
      )}
    </div>
  );
}
