// Networks: whose each is, its VLANs and how many ports are in it. A tenant makes networks of its own; those of other kinds are the site's.
import {useSource} from "../../api/source";
import type {NetworkPage} from "../../api/types";
import {query, withWords} from "../../app/route";
import {isSite, may} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {Mark} from "../../part/mark";
import {Facts, Panel} from "../../part/panel";
import {Empty, Shown} from "../../part/screen";
import {Table, useShownRows, type Column} from "../../part/table";
import {forget, useThing, type Thing, type ThingField} from "../../part/thing";
import {when} from "../../part/time";
import {networks as networksOf} from "../wizard/sources";

type Network = NetworkPage["items"][number];

const source = () => networksOf("");
const KINDS = ["tenant", "provisioning", "bmc", "quarantine"].map((kind): [string, string] => [kind, kind]);

function network(): Thing {
  const own: Record<string, ThingField> = {name: {title: "Name", option: ""}, prefix: {title: "Its addresses", max: 18, hint: "10.60.0.0/24. May be empty"}};
  return {
    noun: "network", put: "POST /api/v1/networks", gone: "DELETE /api/v1/networks/{network}", line: "network create", goneLine: "network delete", key: null, button: "Make", again: () => void source().reload(),
    note: "It gets its VLAN when the first port needs it.", lost: "It is refused while a port or a node is in it. It is gone when its VLAN is on no switch any more.",
    fields: isSite.value ? {...own, kind: {title: "Kind", words: KINDS, start: "tenant"}, tenant: {title: "Tenant", hint: "Empty: the site's"}} : own,
  };
}

const vlans = (row: Network) => row.vlans.map((one) => (row.vlans.length > 1 ? `${one.fabric} ${one.vlan}` : String(one.vlan))).join(", ") || null;

const COLUMNS: Column<Network>[] = [
  {name: "network", title: "Network", value: (row) => row.name, width: "minmax(110px, 1fr)", mono: true, narrow: "title"},
  {name: "tenant", title: "Tenant", value: (row) => row.tenant ?? row.kind, width: "minmax(90px, 0.8fr)", narrow: "sub"},
  {name: "pdci", title: "PDCI", value: (row) => row.pdci, width: "minmax(90px, 0.8fr)", wide: true},
  {name: "prefix", title: "Addresses", value: (row) => row.prefix, width: "minmax(120px, 1fr)", mono: true, narrow: "sub"},
  {name: "vlan", title: "VLAN", value: vlans, width: "minmax(80px, 0.7fr)", wide: true},
  {name: "ports", title: "Ports", value: (row) => row.ports_count, width: "76px", number: true},
  {name: "state", title: "On the switches", value: (row) => (row.wanted === "absent" ? "goes" : row.applied ? "as wanted" : "not yet"), cell: (row) => <Mark shape={row.wanted === "absent" ? "work" : row.applied ? "ok" : "wait"}>{row.wanted === "absent" ? "goes" : row.applied ? "as wanted" : "not yet"}</Mark>, width: "minmax(110px, 0.9fr)", narrow: "state"},
];

export function Networks({beside}: {beside: boolean}) {
  const held = useSource(source());
  const [form, edit] = useThing();
  const rows = useShownRows(held.value ?? [], COLUMNS);
  return (
    <Shown held={held} what="networks" again={() => void source().reload()}>
      {() => (
        <>
          {may("pdci") && <div class="bar"><div class="end"><button type="button" class="button" onClick={() => edit(network())}>New network</button></div></div>}
          <Table
            label="Networks" beside={beside} rows={rows} columns={COLUMNS} shown={COLUMNS} keyOf={(row) => `network:${row.id}`}
            none={query.value.get("q") ? <Empty title="No network has these words"><a href={withWords({q: undefined})}>Show all</a></Empty> : <Empty title="No network is there"><p>A PDCI may bring its own.</p></Empty>}
          />
          {form}
        </>
      )}
    </Shown>
  );
}

export function ChosenNetwork({id}: {id: string}) {
  const row = useSource(source()).value?.find((one) => String(one.id) === id);
  const [dialog, ask] = useDialog();
  if (!row) return <Panel title="Gone"><p class="quiet">This network is not there any more.</p></Panel>;
  return (
    <Panel title={<span class="mono">{row.name}</span>}>
      <Facts rows={[["Kind", row.kind], ["Tenant", row.tenant], ["PDCI", row.pdci], ["Addresses", row.prefix && <span class="mono">{row.prefix}</span>], ["VLAN", vlans(row) ?? "none yet"], ["Ports", row.ports_count], ["Since", when(row.created_at)]]} />
      {may("pdci") && row.wanted === "present" && !row.pdci && <div class="actions"><button type="button" class="button danger" onClick={() => ask(forget(network(), String(row.id), row.version))}>Delete…</button></div>}
      <Command line={`haasctl network show ${quote(String(row.id))}`} />
      {dialog}
    </Panel>
  );
}
