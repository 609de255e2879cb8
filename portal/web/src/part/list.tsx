// A screen that is a list: its head, its numbers, what one may do, the table with a panel beside it, the haasctl line.
import type {ComponentChildren} from "preact";
import {useMemo} from "preact/hooks";
import type {Held} from "../api/source";
import {query, withWords} from "../app/route";
import {isSite} from "../app/session";
import {Command} from "./command";
import {Empty, Head, Numbers, Shown, type KeyNumber} from "./screen";
import {Table, useColumns, useShownRows, type Column} from "./table";

interface Props<T> {
  title: string;
  about?: ComponentChildren;
  held: Held<T[]>;
  again: () => void;
  /** What it shows, for people: "jobs". */
  what: string;
  filter?: string;
  /** Under this name its columns are kept. */
  table: string;
  columns: Column<T>[];
  keyOf: (row: T) => string;
  hrefOf?: (row: T) => string;
  numbers?: (rows: T[]) => KeyNumber[];
  /** Left of the menu of columns. */
  bar?: ComponentChildren;
  actions?: ComponentChildren;
  /** Of the chosen row, in the panel. */
  panel?: (row: T) => ComponentChildren;
  /** Above the table. */
  before?: ComponentChildren;
  /** Below the table. */
  after?: ComponentChildren;
  none: ComponentChildren;
  line: string;
  /** More stands below it: the screen is as long as it has to be. */
  flows?: boolean;
}

/** Links of which one is where one is: a table, a state. */
export function Segments({label, rows}: {label: string; rows: [href: string, title: string, here: boolean][]}) {
  return <nav class="segments" aria-label={label}>{rows.map(([href, title, here]) => <a key={title} href={href} aria-current={here ? "true" : undefined}>{title}</a>)}</nav>;
}

/** What goes on, or all of it: the word `all` of the address. */
export function OpenOrAll({label, open, all}: {label: string; open: string; all: boolean}) {
  return <Segments label={label} rows={[[withWords({all: undefined, at: undefined}), open, !all], [withWords({all: "yes", at: undefined}), "All", all]]} />;
}

export function ListScreen<T>({title, about, held, again, what, filter, table, columns: all, keyOf, hrefOf, numbers, bar, actions, panel, before, after, none, line, flows}: Props<T>) {
  // All that a tenant sees is its own.
  const columns = useMemo(() => (isSite.value ? all : all.filter((one) => one.name !== "tenant")), [all]);
  const [shown, menu] = useColumns(table, columns);
  const list = held.value ?? [];
  const rows = useShownRows(list, columns);
  const at = query.value.get("at");
  const chosen = panel && at !== null ? list.find((row) => keyOf(row) === at) : undefined;
  return (
    <div class={`screen ${flows ? "" : "fixed"} ${held.refusal ? "stale" : ""}`}>
      <Head title={title} about={about} held={held} filter={filter} />
      <Shown held={held} what={what} again={again}>{(value) => numbers && <Numbers rows={numbers(value)} />}</Shown>
      {before}
      {held.value && (
        <>
          <div class="bar">{bar}<div class="end">{actions}{menu}</div></div>
          <div class={`body ${chosen ? "split" : ""}`}>
            <div class="stack">
              <Table
                label={title} beside={!!chosen} rows={rows} columns={columns} shown={shown} keyOf={keyOf} hrefOf={hrefOf}
                none={query.value.get("q") && list.length > 0 ? <Empty title="No row has these words"><a href={withWords({q: undefined})}>Show all</a></Empty> : none}
              />
              {after}
            </div>
            {chosen !== undefined && panel?.(chosen)}
          </div>
          <Command line={line} />
        </>
      )}
    </div>
  );
}
