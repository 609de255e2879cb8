// Volumes: what tenants store, who reaches it, and how much of the limit it is; local disks of rented nodes; for the site the storages.
import {useSource} from "../../api/source";
import {pdcis} from "../../api/sources";
import type {Volume, VolumeState} from "../../api/types";
import {query} from "../../app/route";
import {isSite, may, me} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {ListScreen} from "../../part/list";
import {Mark, type Shape} from "../../part/mark";
import {Once} from "../../part/once";
import {Facts, Panel, Why} from "../../part/panel";
import {Empty} from "../../part/screen";
import type {Column} from "../../part/table";
import {bytes, when} from "../../part/time";
import {limits} from "../tenants/sources";
import {archive, attach, can, create, detach, grow, newSecret, remove} from "./actions";
import {Kinds} from "./kinds";
import {volume, volumes} from "./sources";
import {Storages} from "./storages";

const shapeOf = (state: VolumeState): Shape => (state === "attached" ? "ok" : state === "failed" ? "fail" : state.endsWith("ing") ? "work" : "idle");
const shareOf = (one: Volume) => (one.done_bytes && one.size_bytes && ["creating", "restoring", "growing", "deleting"].includes(one.state) ? ` ${Math.floor((100 * Math.min(one.done_bytes, one.size_bytes)) / one.size_bytes)} %` : "");
const state = (one: Volume) => <Mark shape={shapeOf(one.state)}>{one.state}{shareOf(one)}</Mark>;
const sizes = (list: Volume[]) => list.reduce((sum, one) => sum + one.size_bytes, 0);

const NAME: Column<Volume> = {name: "name", title: "Volume", value: (row) => row.name, mono: true, width: "minmax(120px, 1.2fr)", narrow: "title"};
const STATE: Column<Volume> = {name: "state", title: "State", value: (row) => row.state, cell: state, width: "150px", narrow: "state"};
const TENANT: Column<Volume> = {name: "tenant", title: "Tenant", value: (row) => row.tenant, mono: true, width: "minmax(80px, 0.7fr)", narrow: "sub"};
const PDCI: Column<Volume> = {name: "pdci", title: "PDCI", value: (row) => row.pdci, cell: (row) => <>{row.pdci ?? "–"}</>, mono: true, width: "minmax(80px, 0.8fr)", narrow: "sub"};
const SIZE: Column<Volume> = {name: "size", title: "Size", value: (row) => row.size_bytes, text: (row) => bytes(row.size_bytes), cell: (row) => <>{bytes(row.size_bytes)}</>, width: "96px", number: true, narrow: "sub"};
const SHARED: Column<Volume>[] = [
  NAME, STATE, TENANT, SIZE, PDCI,
  {name: "storage", title: "Storage", value: (row) => row.storage, mono: true, width: "minmax(70px, 0.6fr)", wide: true},
  {name: "problem", title: "Why", value: (row) => row.problem?.message ?? null, width: "minmax(120px, 1.4fr)", wide: true},
];
const LOCAL: Column<Volume>[] = [
  {...NAME, title: "Disk"}, TENANT, PDCI,
  {name: "node", title: "Node", value: (row) => row.node, mono: true, width: "minmax(100px, 0.8fr)"},
  SIZE,
  {name: "model", title: "Model", value: (row) => row.disk?.model ?? null, width: "minmax(100px, 1fr)", wide: true},
];

/** "1.2 TiB of 2.0 TiB", of volumes and archives. */
function Limit({tenant}: {tenant: string}) {
  const room = useRoom(tenant);
  return <>{room ? `${bytes(room.used)}${room.limit === null ? ", without a limit" : ` of ${bytes(room.limit)}`}` : "–"}</>;
}

function useRoom(tenant: string) {
  return useSource(limits(tenant)).value?.items.find((one) => one.kind === "volume_bytes");
}

function Chosen({row, ask}: {row: Volume; ask: ReturnType<typeof useDialog>[1]}) {
  const whole = useSource(volume(row.id ?? 0)).value;
  const rented = (useSource(pdcis(true)).value ?? []).filter((one) => one.tenant === row.tenant && one.state !== "releasing");
  return (
    <Panel title={<span class="mono">{row.name}</span>}>
      <Why tone={row.state === "failed" ? "fail" : "wait"} said={row.problem} />
      <Facts
        rows={[
          ["State", state(row)], ["Size", bytes(row.size_bytes)], ["Tenant", isSite.value ? row.tenant : null], ["It has in all", isSite.value ? <Limit tenant={row.tenant} /> : null],
          ["PDCI", row.pdci && <a class="mono" href={`/pdcis/${encodeURIComponent(row.pdci)}${isSite.value ? `?tenant=${encodeURIComponent(row.tenant)}` : ""}`}>{row.pdci}</a>],
          ["On release", row.pdci && (row.keep ? "it stays" : "it is deleted with its PDCI")], ["Reached by", whole?.initiators?.length ? <span class="mono">{whole.initiators.map((one) => one.node).join(", ")}</span> : "no node"],
          ["Target", whole?.target && <span class="mono small">{whole.target}</span>], ["Portal", whole?.portal && <span class="mono">{whole.portal}</span>], ["User", whole?.user && <span class="mono">{whole.user}</span>],
          ["Storage", row.storage && (isSite.value ? <a class="mono" href={`/volumes?show=storages&at=${encodeURIComponent(row.storage)}`}>{row.storage}</a> : <span class="mono">{row.storage}</span>)],
          ["Restored of", row.archive && <span class="mono">{row.archive}</span>], ["Asked for", row.created_at && `${when(row.created_at)} by ${(row.actor ?? "").replace(/^account /, "")}`],
        ]}
      />
      {may("volume") && (
        <div class="actions">
          {can.attach(row) && rented.length > 0 && <button type="button" class="button" onClick={() => ask(attach(row, rented.map((one) => one.name)))}>Attach</button>}
          {can.work(row) && <button type="button" class="button" onClick={() => ask(grow(row))}>Grow</button>}
          {can.work(row) && <button type="button" class="button" onClick={() => ask(archive(row))}>Archive</button>}
          {can.detach(row) && <button type="button" class="button" onClick={() => ask(newSecret(row))}>New secret…</button>}
          {can.detach(row) && <button type="button" class="button danger" onClick={() => ask(detach(row))}>Detach…</button>}
          {can.remove(row) && <button type="button" class="button danger" onClick={() => ask(remove(row))}>Delete…</button>}
        </div>
      )}
      <Command line={`haasctl volume show ${quote(row.name)}${isSite.value ? ` --tenant ${quote(row.tenant)}` : ""}`} />
    </Panel>
  );
}

function Shared({own}: {own: string | undefined}) {
  const source = volumes("shared");
  const held = useSource(source);
  const [dialog, ask] = useDialog();
  return (
    <>
      <ListScreen
        title="Volumes" what="volumes" table="volumes" filter="detached" held={held} again={() => void source.reload()} columns={SHARED} keyOf={(row) => String(row.id)}
        about="shared storage, reached over iSCSI"
        numbers={(list) => [
          {value: list.length, label: list.length === 1 ? "volume" : "volumes"},
          {value: list.filter((one) => one.state === "attached").length, label: "attached", tone: "ok"},
          {value: list.filter((one) => one.state === "failed" || one.problem).length, label: "have a problem", tone: "fail"},
          {value: bytes(sizes(list)), label: "in volumes"},
        ]}
        before={<Once />} bar={<><Kinds show="" />{own && <span class="quiet">Volumes and archives: <Limit tenant={own} /></span>}</>}
        actions={may("volume") && <button type="button" class="button main" onClick={() => ask(create())}>New volume</button>}
        panel={(row) => <Chosen key={row.id} row={row} ask={ask} />}
        none={<Empty title="No volume"><p class="mono">haasctl volume create data --size 200G</p></Empty>}
        line="haasctl volume list --kind shared"
      />
      {dialog}
    </>
  );
}

function Local() {
  const source = volumes("local");
  const held = useSource(source);
  return (
    <ListScreen
      title="Local disks" what="local disks" table="local disks" filter="train1" held={held} again={() => void source.reload()} columns={LOCAL} keyOf={(row) => row.name}
      hrefOf={(row) => `/nodes/${encodeURIComponent(row.node ?? "")}`}
      about="in rented nodes; they come and go with the node"
      numbers={(list) => [
        {value: list.length, label: list.length === 1 ? "disk" : "disks"},
        {value: new Set(list.map((one) => one.node)).size, label: "nodes"},
        {value: bytes(sizes(list)), label: "in all"},
      ]}
      bar={<Kinds show="local" />}
      panel={(row) => (
        <Panel title={<span class="mono">{row.name}</span>} key={row.name}>
          <Facts
            rows={[
              ["Size", bytes(row.size_bytes)], ["Model", row.disk?.model], ["Serial", row.disk?.serial && <span class="mono">{row.disk.serial}</span>], ["Bus", row.disk?.bus],
              ["Node", row.node && <a class="mono" href={`/nodes/${encodeURIComponent(row.node)}`}>{row.node}</a>], ["PDCI", row.pdci && <span class="mono">{row.pdci}</span>], ["Tenant", isSite.value ? row.tenant : null],
            ]}
          />
          <Command line={`haasctl volume show ${quote(row.name)}`} />
        </Panel>
      )}
      none={<Empty title="No local disk"><p>Those of rented nodes are listed, once a node was installed.</p></Empty>}
      line="haasctl volume list --kind local"
    />
  );
}

export function Volumes() {
  const show = query.value.get("show");
  if (show === "storages" && isSite.value) return <Storages />;
  return show === "local" ? <Local /> : <Shared own={me.value?.tenant} />;
}
