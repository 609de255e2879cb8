// Images, packages and archives: what nodes are made of, and who may use each.
import {signal} from "@preact/signals";
import {readAll, write} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import type {Grant, Tenant} from "../../api/types";
import {query, withWords} from "../../app/route";
import {isSite, may} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog, type Ask} from "../../part/dialog";
import {Mark, type Shape} from "../../part/mark";
import {Facts, Panel} from "../../part/panel";
import {Empty, Head, Numbers, Shown} from "../../part/screen";
import {Table, useColumns, useShownRows, type Column} from "../../part/table";
import {bytes, when} from "../../part/time";
import {ImageActions} from "./actions";
import {source, type Kind, type Thing} from "./sources";

const tenants = () => sourceOf<Tenant[]>("tenants of grants", () => ({load: () => readAll("/api/v1/tenants", {}), touches: (event) => event.kind.startsWith("tenant.")}));

const SHAPES: Record<string, Shape> = {ready: "ok", uploading: "work", creating: "work", retired: "idle", withdrawn: "fail", failed: "fail"};
const keyOf = (one: Thing) => `${one.kind} ${one.tenant ?? ""} ${one.name}`;
const grantsOf = (one: Thing, grants: Grant[]) => grants.filter((grant) => grant.kind === one.kind && grant.object === one.name && grant.valid);
const share = (one: Thing) => (one.state === "uploading" && one.received !== null && one.stored ? Math.floor((100 * one.received) / one.stored) : null);

/** In words: whose it is, and whom it is open to. */
function usersOf(one: Thing, grants: Grant[]): string {
  if (one.open) return "everybody";
  const others = grantsOf(one, grants).map((grant) => grant.tenant ?? "");
  return [one.tenant ?? "the operators", ...others].join(", ");
}

function columnsOf(grants: Grant[]): Column<Thing>[] {
  return [
    {name: "name", title: "Name", value: (row) => row.name, width: "minmax(150px, 1.4fr)", narrow: "title", mono: true},
    {name: "kind", title: "Kind", value: (row) => row.kind, width: "84px", narrow: "sub"},
    {name: "state", title: "State", value: (row) => row.state, cell: (row) => <Mark shape={SHAPES[row.state] ?? "idle"}>{row.state}{share(row) !== null && ` ${share(row)} %`}</Mark>, width: "152px", narrow: "state"},
    {name: "users", title: "May use it", value: (row) => usersOf(row, grants), width: "minmax(140px, 1.4fr)", narrow: "sub"},
    {name: "owner", title: "Owner", wide: true, value: (row) => row.tenant ?? "operators", width: "100px"},
    {name: "size", title: "Size", value: (row) => row.size, cell: (row) => bytes(row.size), width: "92px", number: true},
    {name: "stored", title: "Stored", wide: true, value: (row) => row.stored, cell: (row) => bytes(row.stored), width: "92px", number: true},
    {name: "at", title: "Made", wide: true, value: (row) => row.at, cell: (row) => when(row.at), width: "132px", number: true},
  ];
}

const tenant = signal("");

function Whom({not}: {not: string[]}) {
  const held = useSource(tenants());
  return (
    <div class="field">
      <label for="grant-tenant">Tenant</label>
      <select id="grant-tenant" required value={tenant.value} onChange={(event) => (tenant.value = event.currentTarget.value)}>
        <option value="">{held.value ? "choose one" : "reading the tenants"}</option>
        {held.value?.filter((one) => !not.includes(one.name)).map((one) => <option key={one.name} value={one.name}>{one.name}</option>)}
      </select>
    </div>
  );
}

function letUse(one: Thing, grants: Grant[]): Ask {
  tenant.value = "";
  return {
    title: `Let a tenant use ${one.name}`, noun: one.kind, names: [one.name], button: "Let it use", reason: "kept",
    children: <Whom not={[one.tenant ?? "", ...grantsOf(one, grants).map((grant) => grant.tenant ?? "")]} />,
    line: () => `haasctl grant add ${one.kind} ${quote(one.name)} ${quote(tenant.value || "TENANT")}${one.kind === "archive" && one.tenant ? ` --owner ${quote(one.tenant)}` : ""}`,
    act: async (why) => {
      await write("POST /api/v1/grants", {body: {kind: one.kind, object: one.name, tenant: tenant.value, ...(one.kind === "archive" && one.tenant ? {owner: one.tenant} : {})}, why});
      void source().reload();
    },
  };
}

function takeBack(one: Thing, grant: Grant): Ask {
  return {
    title: `Take ${one.name} back from ${grant.tenant}`, noun: "grant", names: [`${one.name} for ${grant.tenant}`], button: "Take back", destructive: true, reason: "kept",
    children: <p>What was made with it stays; nothing new can be made.</p>,
    line: () => `haasctl grant remove ${grant.id}`,
    act: async (why) => {
      await write("DELETE /api/v1/grants/{grant}", {place: {grant: grant.id}, why});
      void source().reload();
    },
  };
}

function Chosen({one, grants, ask}: {one: Thing; grants: Grant[]; ask: (ask: Ask) => void}) {
  const given = grantsOf(one, grants);
  return (
    <Panel title={<span class="mono">{one.name}</span>}>
      <Facts
        rows={[
          ["Kind", one.kind],
          ["State", <Mark shape={SHAPES[one.state] ?? "idle"}>{one.state}{share(one) !== null && `, ${bytes(one.received)} of ${bytes(one.stored)}`}</Mark>],
          ["Owner", one.tenant ?? "the operators"],
          ["Size", `${bytes(one.size)}${one.stored !== null && one.stored !== one.size ? `, stored ${bytes(one.stored)}` : ""}`],
          ...one.about.map(([term, value]): [string, preact.ComponentChildren] => [term, value && <span class="mono">{value}</span>]),
          ["Made", one.at && when(one.at)],
          ["May use it", one.open ? "everybody" : one.tenant ?? "the operators"],
        ]}
      />
      {given.length > 0 && (
        <ul class="lines" aria-label="Grants">
          {given.map((grant) => (
            <li key={grant.id}>
              <span class="grow">{grant.tenant}<span class="quiet small"> by {grant.granted_by.replace(/^account /, "")}{grant.expires_at && `, until ${when(grant.expires_at)}`}</span></span>
              {may("grant") && <button type="button" class="button" onClick={() => ask(takeBack(one, grant))}>Take back…</button>}
            </li>
          ))}
        </ul>
      )}
      {may("grant") && !one.open && <div class="actions"><button type="button" class="button" onClick={() => ask(letUse(one, grants))}>Let a tenant use it</button></div>}
      <ImageActions one={one} ask={ask} />
      <Command line={one.kind === "archive" ? "haasctl archive list" : `haasctl ${one.kind} show ${quote(one.name)}`} />
    </Panel>
  );
}

export function Images() {
  const held = useSource(source());
  const [dialog, ask] = useDialog();
  const grants = held.value?.grants ?? [];
  const columns = columnsOf(grants);
  const [shown, menu] = useColumns("images", columns);
  const list = held.value?.things ?? [];
  const rows = useShownRows(list, columns);
  const chosen = list.find((one) => keyOf(one) === query.value.get("at"));
  const of = (kind: Kind) => list.filter((one) => one.kind === kind).length;
  return (
    <div class={`screen ${held.refusal ? "stale" : ""}`}>
      <Head title="Images" about={held.value && "and packages and archives: who may use each"} held={held} filter="kind:image acme" />
      <Shown held={held} what="images, packages and archives" again={() => void source().reload()}>
        {() => <Numbers rows={[{value: of("image"), label: "images"}, {value: of("package"), label: "packages"}, {value: of("archive"), label: "archives"}, {value: list.filter((one) => one.state === "uploading").length, label: "uploading", tone: "work"}]} />}
      </Shown>
      {held.value && (list.length === 0 ? (
        <Empty title={isSite.value ? "No image is here yet" : "You may use no image yet"}><p class="mono">haasctl image import debian.manifest.json --public</p></Empty>
      ) : (
        <>
          <div class="bar"><div class="end">{menu}</div></div>
          <div class={`body ${chosen ? "split" : ""}`}>
            <Table
              label="Images, packages and archives" beside={!!chosen} rows={rows} columns={columns} shown={shown} keyOf={keyOf}
              none={<Empty title="None has these words"><a href={withWords({q: undefined})}>Show all</a></Empty>}
            />
            {chosen && <Chosen one={chosen} grants={grants} ask={ask} />}
          </div>
          <Command line="haasctl image list" />
          <Command label="another by" line="haasctl image import X.manifest.json" />
        </>
      ))}
      {dialog}
    </div>
  );
}
