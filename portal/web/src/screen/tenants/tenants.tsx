// Tenants: who rents here, how much each may have and has, and its usage.
import {useMemo} from "preact/hooks";
import {useSource} from "../../api/source";
import {nodes, pdcis} from "../../api/sources";
import type {Tenant} from "../../api/types";
import {may} from "../../app/session";
import {Command} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {ListScreen} from "../../part/list";
import {Facts, Panel} from "../../part/panel";
import {Empty, Shown} from "../../part/screen";
import type {Column} from "../../part/table";
import {count, when} from "../../part/time";
import {monthBegins, UsageCsv} from "../usage/csv";
import {create, limit, remove, siteRows} from "./actions";
import {amountOf, titleOf} from "./limits";
import {limits, siteLimits, tenant, tenants} from "./sources";

interface Row extends Tenant {
  nodes: number;
  pdcis: number;
}

const COLUMNS: Column<Row>[] = [
  {name: "name", title: "Tenant", value: (row) => row.name, mono: true, width: "minmax(120px, 1fr)", narrow: "title"},
  {name: "nodes", title: "Nodes", value: (row) => row.nodes, width: "110px", number: true, narrow: "sub"},
  {name: "pdcis", title: "PDCIs", value: (row) => row.pdcis, width: "110px", number: true, narrow: "state"},
  {name: "since", title: "Since", value: (row) => row.created_at, cell: (row) => <>{when(row.created_at)}</>, width: "150px", number: true},
];

function Chosen({row, ask}: {row: Row; ask: ReturnType<typeof useDialog>[1]}) {
  const of = tenant(row.name);
  const held = useSource(of);
  const source = limits(row.name);
  const bounds = useSource(source);
  const left = held.value?.left ?? {};
  return (
    <Panel title={<span class="mono">{row.name}</span>}>
      <Facts
        rows={[
          ["Since", when(row.created_at)],
          ["Nodes", <a href={`/nodes?q=tenant:${encodeURIComponent(row.name)}`}>{count(row.nodes)}</a>],
          ["PDCIs", <a href={`/pdcis?q=tenant:${encodeURIComponent(row.name)}`}>{count(row.pdcis)}</a>],
          ["It has", Object.entries(left).map(([kind, many]) => `${many} ${kind}`).join(", ") || null],
        ]}
      />
      <Shown held={bounds} what="its limits" again={() => void source.reload()}>
        {(list) => (
          <table class="plain tight">
            <thead><tr><th>Limit of</th><th class="number">Has</th><th class="number">At most</th></tr></thead>
            <tbody>
              {list.items.map((one) => (
                <tr key={titleOf(one)}>
                  <td>{titleOf(one)}{!one.own && <span class="quiet small"> by the site</span>}</td>
                  <td class="number">{amountOf(one.kind, one.used)}</td>
                  <td class="number">{may("tenant") ? <button type="button" class="button small" onClick={() => ask(limit(row.name, list, one))}>{amountOf(one.kind, one.limit)}</button> : amountOf(one.kind, one.limit)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Shown>
      <div class="actions">
        <a class="button" href={`/usage?tenant=${encodeURIComponent(row.name)}`}>Usage</a>
        <UsageCsv tenant={row.name} from={monthBegins(0)}>{`Usage since ${monthBegins(0)} as CSV`}</UsageCsv>
        {may("tenant") && <button type="button" class="button danger" onClick={() => ask(remove(row.name, left))}>Delete…</button>}
      </div>
      <Command line={`haasctl usage list --tenant ${row.name} -o csv`} />
    </Panel>
  );
}

/** What holds for tenants that have no limit of their own. */
function SiteLimits({ask}: {ask: ReturnType<typeof useDialog>[1]}) {
  const source = siteLimits();
  const held = useSource(source);
  return (
    <section class="panel flush" aria-label="Limits of the site">
      <header><h2>Limits of the site</h2><span class="quiet small">of tenants that have none of their own</span></header>
      <Shown held={held} what="its limits" again={() => void source.reload()}>
        {(all) => {
          const items = siteRows(all);
          return (
            <ul class="lines">
              {items.map((one) => (
                <li key={titleOf(one)}>
                  <span class="grow">{titleOf(one)}</span><span class="number">{amountOf(one.kind, one.limit)}</span>
                  {may("tenant") && <button type="button" class="button small" aria-label={`Change ${titleOf(one)}`} onClick={() => ask(limit(null, {items, version: all.version}, one))}>Change</button>}
                </li>
              ))}
            </ul>
          );
        }}
      </Shown>
      <div class="pad"><Command line="haasctl tenant limit list --site" /></div>
    </section>
  );
}

export function Tenants() {
  const source = tenants();
  const held = useSource(source);
  const fleet = useSource(nodes()).value;
  const rented = useSource(pdcis(true)).value;
  const [dialog, ask] = useDialog();
  const rows = useMemo(
    () => held.value?.map((one) => ({...one, nodes: fleet?.filter((node) => node.tenant === one.name).length ?? 0, pdcis: rented?.filter((pdci) => pdci.tenant === one.name).length ?? 0})),
    [held.value, fleet, rented],
  );
  return (
    <>
      <ListScreen
        flows title="Tenants" what="tenants" table="tenants" filter="acme" held={{...held, value: rows}} again={() => void source.reload()} columns={COLUMNS} keyOf={(row) => row.name}
        about="who rents here, and how much"
        numbers={(list) => [
          {value: list.length, label: list.length === 1 ? "tenant" : "tenants"},
          {value: list.filter((one) => one.nodes > 0).length, label: "have nodes"},
          {value: list.reduce((sum, one) => sum + one.nodes, 0), label: "nodes rented"},
        ]}
        actions={may("tenant") && <button type="button" class="button main" onClick={() => ask(create())}>New tenant</button>}
        panel={(row) => <Chosen key={row.name} row={row} ask={ask} />}
        after={<SiteLimits ask={ask} />}
        none={<Empty title="No tenant"><p>Nobody rents here yet. <span class="mono">haasctl tenant create acme</span></p></Empty>}
        line="haasctl tenant list"
      />
      {dialog}
    </>
  );
}
