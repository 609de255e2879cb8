// Usage: who had which nodes and volumes, for how long. For the site a row a tenant, and of one tenant a row for each PDCI and class. It outlives them all.
import {useMemo} from "preact/hooks";
import {readAll} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import type {UsagePage} from "../../api/types";
import {query, setWords, withWords} from "../../app/route";
import {isSite} from "../../app/session";
import {quote} from "../../part/command";
import {ListScreen, Segments} from "../../part/list";
import {Facts, Panel} from "../../part/panel";
import {Empty} from "../../part/screen";
import type {Column} from "../../part/table";
import {bytes, count, when} from "../../part/time";
import {monthBegins, UsageCsv} from "./csv";

type Use = UsagePage["items"][number];

interface Row {
  key: string;
  tenant: string;
  pdci: string;
  /** Of nodes; volume or archive. */
  class: string;
  uses: Use[];
  nodeHours: number;
  byteHours: number;
  /** Nodes and volumes that are used now. */
  open: number;
}

const HOUR_S = 3600;
const usage = (tenant: string | undefined, from: string, to: string | undefined) =>
  sourceOf<Use[]>(`usage ${tenant ?? ""} ${from} ${to ?? ""}`, () => ({
    load: () => readAll("/api/v1/usage", {tenant, from, to}),
    touches: (event) => event.subject_kind === "pdci",
    every: () => 60000,
  }));

function rowsOf(list: Use[], keyOf: (one: Use) => string): Row[] {
  const by = new Map<string, Row>();
  for (const one of list) {
    const key = keyOf(one);
    const row = by.get(key) ?? {key, tenant: one.tenant, pdci: one.pdci, class: one.class, uses: [], nodeHours: 0, byteHours: 0, open: 0};
    by.set(key, row);
    row.uses.push(one);
    if (one.kind === "node") row.nodeHours += one.seconds / HOUR_S;
    else row.byteHours += ((one.bytes ?? 0) * one.seconds) / HOUR_S;
    if (one.to_at === null) row.open++;
  }
  return [...by.values()].sort((a, b) => b.nodeHours - a.nodeHours || b.byteHours - a.byteHours);
}

const sum = (list: Row[], of: (one: Row) => number) => list.reduce((all, one) => all + of(one), 0);
/** One place after the point where that is a share that one sees. */
const hours = (value: number) => (value >= 100 ? count(Math.round(value)) : value.toFixed(1));
const NODE_HOURS: Column<Row> = {name: "node_hours", title: "Node hours", value: (row) => Math.round(row.nodeHours * 10) / 10, cell: (row) => <>{row.nodeHours ? `${hours(row.nodeHours)} h` : "–"}</>, width: "120px", number: true, narrow: "state"};
const BYTE_HOURS: Column<Row> = {name: "volume_hours", title: "Volumes, size × hours", value: (row) => Math.round(row.byteHours), cell: (row) => <>{row.byteHours ? `${bytes(row.byteHours)} h` : "–"}</>, width: "170px", number: true};
const THINGS: Column<Row> = {name: "things", title: "Nodes, volumes", value: (row) => new Set(row.uses.map((one) => one.subject)).size, width: "130px", number: true, wide: true};
const OPEN: Column<Row> = {name: "now", title: "Used now", value: (row) => row.open, text: (row) => `${row.open} used now`, width: "100px", number: true, narrow: "sub"};

const BY_TENANT: Column<Row>[] = [
  {name: "tenant", title: "Tenant", value: (row) => row.tenant, cell: (row) => <a class="mono" href={withWords({tenant: row.tenant, at: undefined})}>{row.tenant}</a>, mono: true, width: "minmax(120px, 1fr)", narrow: "title"},
  NODE_HOURS, BYTE_HOURS, THINGS, OPEN,
];
const BY_PDCI: Column<Row>[] = [
  {name: "pdci", title: "PDCI", value: (row) => row.pdci || null, cell: (row) => <span class="mono">{row.pdci || "of no PDCI"}</span>, mono: true, width: "minmax(120px, 1fr)", narrow: "title"},
  {name: "class", title: "Class", value: (row) => row.class || null, width: "minmax(90px, 0.8fr)", narrow: "sub"},
  NODE_HOURS, BYTE_HOURS, THINGS, OPEN,
];

/** Of one row, the longest first. */
const SHOWN = 200;

function Chosen({row}: {row: Row}) {
  const uses = [...row.uses].sort((a, b) => b.seconds - a.seconds);
  return (
    <Panel title={<span class="mono">{row.pdci || row.tenant}</span>}>
      <Facts rows={[["Tenant", isSite.value ? row.tenant : null], ["Node hours", row.nodeHours ? `${hours(row.nodeHours)} h` : null], ["Volumes", row.byteHours ? `${bytes(row.byteHours)} × hours` : null], ["Used now", String(row.open)]]} />
      <table class="plain tight">
        <thead><tr><th>What</th><th>From, to</th><th class="number">Hours</th></tr></thead>
        <tbody>
          {uses.slice(0, SHOWN).map((one) => (
            <tr key={`${one.kind} ${one.subject} ${one.from_at}`}>
              <td><span class="mono">{one.subject}</span><br /><span class="quiet small">{one.class}{one.bytes !== null && `, ${bytes(one.bytes)}`}</span></td>
              <td class="small">{when(one.from_at)}<br />{one.to_at ? when(one.to_at) : "goes on"}</td>
              <td class="number">{hours(one.seconds / HOUR_S)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {uses.length > SHOWN && <p class="quiet small">{count(uses.length - SHOWN)} more are in the CSV.</p>}
    </Panel>
  );
}

const PERIODS: [string, string, string | undefined][] = [["This month", monthBegins(0), undefined], ["Last month", monthBegins(-1), monthBegins(0)], ["12 months", monthBegins(-11), undefined]];
const DAY = /^\d{4}-\d\d-\d\d$/;

function Periods({from, to}: {from: string; to: string | undefined}) {
  return (
    <>
      <Segments label="Of which time" rows={PERIODS.map(([title, begin, end]) => [withWords({from: begin === monthBegins(0) ? undefined : begin, to: end, at: undefined}), title, from === begin && to === end])} />
      <label class="inline">from <input class="filter day" type="date" value={from} max={to} onChange={(event) => DAY.test(event.currentTarget.value) && setWords({from: event.currentTarget.value, at: undefined})} /></label>
      <label class="inline">before <input class="filter day" type="date" value={to ?? ""} min={from} onChange={(event) => setWords({to: event.currentTarget.value || undefined, at: undefined})} /></label>
    </>
  );
}

export function UsageScreen() {
  const words = query.value;
  const from = DAY.test(words.get("from") ?? "") ? words.get("from")! : monthBegins(0);
  const to = DAY.test(words.get("to") ?? "") ? words.get("to")! : undefined;
  const tenant = isSite.value ? words.get("tenant") ?? undefined : undefined;
  const source = usage(tenant, from, to);
  const held = useSource(source);
  const each = isSite.value && !tenant;
  const rows = useMemo(() => held.value && rowsOf(held.value, each ? (one) => one.tenant : (one) => `${one.pdci} ${one.kind === "node" ? "" : "volume "}${one.class}`), [held.value, each]);
  return (
    <ListScreen
      key={each ? "each" : "one"} title={isSite.value ? "Usage" : "My usage"} what="usage" table={each ? "usage" : "usage of one"} filter={each ? "acme" : "train1"}
      held={{...held, value: rows}} again={() => void source.reload()} columns={each ? BY_TENANT : BY_PDCI} keyOf={(row) => row.key}
      about={<>{tenant && <><a href={withWords({tenant: undefined, at: undefined})}>All tenants</a> / <b>{tenant}</b>, </>}days are in UTC; what goes on counts to now</>}
      numbers={(list) => [
        {value: `${hours(sum(list, (one) => one.nodeHours))} h`, label: "of nodes"},
        {value: sum(list, (one) => one.byteHours) ? `${bytes(sum(list, (one) => one.byteHours))} h` : "–", label: "of volumes, size × hours"},
        {value: sum(list, (one) => one.open), label: "used now", tone: "ok"},
        ...(each ? [{value: list.length, label: list.length === 1 ? "tenant" : "tenants"}] : []),
      ]}
      bar={<Periods from={from} to={to} />}
      actions={<UsageCsv tenant={tenant} from={from} to={to}>Save as CSV</UsageCsv>}
      panel={(row) => <Chosen key={row.key} row={row} />}
      none={<Empty title="Nothing was used in this time"><p>A row begins when a node is handed over, or a volume made.</p></Empty>}
      line={`haasctl usage list${tenant ? ` --tenant ${quote(tenant)}` : ""} --from ${from}${to ? ` --to ${to}` : ""} -o csv`}
    />
  );
}
