// A screen that is a list: its head, its numbers, what one may do, the table with a panel beside it, the haasctl line.
import type {ComponentChildren} from "preact";
import type {Held} from "../api/source";
import {query, withWords} from "../app/route";
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
}

export function ListScreen<T>({title, about, held, again, what, filter, table, columns, keyOf, hrefOf, numbers, bar, actions, panel, before, after, none, line}: Props<T>) {
  const [shown, menu] = useColumns(table, columns);
  const list = held.value ?? [];
  const rows = useShownRows(list, columns);
  const at = query.value.get("at");
  const chosen = panel && at !== null ? list.find((row) => keyOf(row) === at) : undefined;
  return (
    <div class={`screen fixed ${held.refusal ? "stale" : ""}`}>
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
