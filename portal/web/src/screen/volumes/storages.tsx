// Storages, for the site: what each takes, how full it is, whose it is, and why one is not well.
import {useSource} from "../../api/source";
import type {Archive, Storage, Volume} from "../../api/types";
import {may} from "../../app/session";
import {Command} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {ListScreen} from "../../part/list";
import {Mark, type Shape} from "../../part/mark";
import {Facts, Panel, Why} from "../../part/panel";
import {Empty} from "../../part/screen";
import type {Column} from "../../part/table";
import {useThing} from "../../part/thing";
import {bytes, since, when} from "../../part/time";
import {accept} from "./actions";
import {Kinds} from "./kinds";
import {archives, storages, volumes} from "./sources";
import {STORAGE} from "./things";

const SHAPES: Record<Storage["state"], Shape> = {never_seen: "wait", silent: "fail", degraded: "fail", ready: "ok"};
const state = (one: Storage) => <Mark shape={SHAPES[one.state]}>{one.state.replace("_", " ")}</Mark>;
const roomOf = (one: Storage) => one.capacity_bytes ?? one.total_bytes;
const shareOf = (one: Storage) => (roomOf(one) ? Math.floor((100 * one.used_bytes) / (roomOf(one) ?? 1)) : null);
const sum = (list: Storage[], of: (one: Storage) => number | null) => list.reduce((all, one) => all + (of(one) ?? 0), 0);

/** Its state where no problem says it: a storage that is not heard tells none. */
const whyOf = (one: Storage) =>
  one.state === "silent" ? {message: `its bampi-stored is not heard since ${when(one.seen_at)}`, hint: "what it serves may go on; nothing is made, grown or deleted meanwhile"}
    : one.state === "never_seen" ? {message: "its bampi-stored was never heard", hint: `it has to be configured with the name ${one.name}`} : one.problem;

const COLUMNS: Column<Storage>[] = [
  {name: "name", title: "Storage", value: (row) => row.name, mono: true, width: "minmax(100px, 1fr)", narrow: "title"},
  {name: "state", title: "State", value: (row) => row.state.replace("_", " "), cell: state, width: "120px", narrow: "state"},
  {name: "used", title: "Spoken for", value: (row) => row.used_bytes, text: (row) => `${bytes(row.used_bytes)} of ${bytes(roomOf(row))}`, cell: (row) => <>{bytes(row.used_bytes)}</>, width: "100px", number: true, narrow: "sub"},
  {name: "capacity", title: "Of", value: roomOf, cell: (row) => <>{bytes(roomOf(row))}</>, width: "100px", number: true},
  {name: "share", title: "Share", value: shareOf, cell: (row) => <>{shareOf(row) === null ? "–" : `${shareOf(row)} %`}</>, width: "76px", number: true},
  {name: "accepts", title: "New volumes", value: (row) => (row.accepts ? "taken" : "not taken"), width: "110px", wide: true},
  {name: "why", title: "Why", value: (row) => whyOf(row)?.message ?? null, width: "minmax(140px, 1.6fr)", wide: true},
];

/** What each tenant has on it, the most first: volumes at their size, archives as they are stored. */
function tenantsOf(name: string, made: Volume[], kept: Archive[]): [string, number][] {
  const by = new Map<string, number>();
  const add = (tenant: string | null, size: number | null) => by.set(tenant ?? "–", (by.get(tenant ?? "–") ?? 0) + (size ?? 0));
  for (const one of made) if (one.storage === name) add(one.tenant, one.size_bytes);
  for (const one of kept) if (one.storage === name) add(one.tenant, one.stored_bytes);
  return [...by].sort((a, b) => b[1] - a[1]);
}

function Chosen({row, ask}: {row: Storage; ask: ReturnType<typeof useDialog>[1]}) {
  const made = useSource(volumes("shared")).value;
  const kept = useSource(archives()).value;
  const [form, edit] = useThing();
  const shares = made && kept ? tenantsOf(row.name, made, kept) : [];
  return (
    <Panel title={<span class="mono">{row.name}</span>}>
      <Why tone={row.state === "never_seen" ? "wait" : "fail"} said={whyOf(row)} />
      <Facts
        rows={[
          ["State", state(row)], ["Spoken for", `${bytes(row.used_bytes)} of ${bytes(roomOf(row))}`], ["Disk", row.total_bytes === null ? "not known yet" : `${bytes(row.free_bytes)} of ${bytes(row.total_bytes)} are free`],
          ["At most", row.capacity_bytes === null ? "what the disk has" : bytes(row.capacity_bytes)], ["New volumes", row.accepts ? "taken" : "not taken"], ["Portal", <span class="mono">{row.portal}</span>],
          ["Switch port", row.port ? <span class="mono">{row.port}</span> : "none: the site routes its portal"], ["Prefix", row.prefix && <span class="mono">{row.prefix}</span>], ["Heard", row.seen_at ? `${since(row.seen_at)} ago` : "never"],
        ]}
      />
      {shares.length > 0 && (
        <table class="plain tight">
          <thead><tr><th>Tenant</th><th class="number">Has here</th><th class="number">Share</th></tr></thead>
          <tbody>
            {shares.map(([tenant, size]) => <tr key={tenant}><td class="mono">{tenant}</td><td class="number">{bytes(size)}</td><td class="number">{row.used_bytes ? `${Math.round((100 * size) / row.used_bytes)} %` : "–"}</td></tr>)}
          </tbody>
        </table>
      )}
      {may("storage") && <div class="actions"><button type="button" class="button" onClick={() => edit({...STORAGE, note: `${bytes(row.used_bytes)} are spoken for${row.total_bytes === null ? "" : `, its disk has ${bytes(row.total_bytes)}`}.`}, row.name)}>Edit</button><button type="button" class="button" onClick={() => ask(accept(row))}>{row.accepts ? "Take no new volumes" : "Take new volumes"}</button></div>}
      <Command line="haasctl storage list" />
      {form}
    </Panel>
  );
}

export function Storages() {
  const source = storages();
  const held = useSource(source);
  const [dialog, ask] = useDialog();
  const [form, edit] = useThing();
  return (
    <>
      <ListScreen
        title="Storages" what="storages" table="storages" filter="silent" held={held} again={() => void source.reload()} columns={COLUMNS} keyOf={(row) => row.name} about="where volumes and archives lie"
        numbers={(list) => [
          {value: list.filter((one) => one.state === "ready").length, label: "ready", tone: "ok"},
          {value: list.filter((one) => one.state !== "ready").length, label: "not ready", tone: "fail"},
          {value: `${bytes(sum(list, (one) => one.used_bytes))} of ${bytes(sum(list, roomOf))}`, label: "spoken for"},
        ]}
        bar={<Kinds show="storages" />}
        actions={may("storage") && <button type="button" class="button" onClick={() => edit(STORAGE)}>New storage</button>}
        panel={(row) => <Chosen key={row.name} row={row} ask={ask} />}
        none={<Empty title="No storage"><p class="mono">haasctl storage set store1 --portal 10.4.0.2:3260</p></Empty>}
        line="haasctl storage list"
      />
      {dialog}{form}
    </>
  );
}
