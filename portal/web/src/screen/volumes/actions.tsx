// What is done about a volume, or a storage. Which of it a state allows is asked in `can`: the same rules as db/schema/volume.sql, which decides.
import {signal} from "@preact/signals";
import {write} from "../../api/client";
import type {Storage, Volume} from "../../api/types";
import {isSite} from "../../app/session";
import {editsOf, type Members, type Written} from "../../part/changed";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {Choice, Field} from "../../part/field";
import {tellOnce} from "../../part/once";
import {sizeOf} from "../../part/size";
import {bytes} from "../../part/time";
import {storages, volume, volumes} from "./sources";

/** A name may be one of several tenants: the site says whose. */
const tenantOf = (one: Volume) => (isSite.value ? one.tenant : undefined);
const option = (name: string, value: string | undefined) => (value ? ` --${name} ${quote(value)}` : "");
const lineOf = (verb: string, one: Volume, rest = "") => `haasctl volume ${verb} ${quote(one.name)}${rest}${option("tenant", tenantOf(one))}`;
const placeOf = (one: Volume) => ({place: {volume: one.id ?? one.name}, query: {tenant: tenantOf(one)}});

async function readAgain(one?: Volume) {
  await Promise.all([volumes("shared").reload(), one?.id && volume(one.id).reload()]);
}

const idle = (one: Volume) => one.pdci === null && one.state !== "deleting";
export const can = {
  attach: idle,
  detach: (one: Volume) => one.pdci !== null,
  work: (one: Volume) => one.state === "detached",
  remove: (one: Volume) => idle(one) && one.state !== "detaching" && one.state !== "archiving",
};

export function create(): Ask {
  const [name, size, archive, pdci, tenant, storage] = [signal(""), signal(""), signal(""), signal(""), signal(""), signal("")];
  const said = (value: {value: string}) => value.value.trim() || undefined;
  return {
    title: "New volume", noun: "volume", names: [], button: "Create",
    children: (
      <>
        {isSite.value && <Field label="Tenant" value={tenant} required max={63} example="acme" />}
        <Field label="Name" value={name} required max={63} example="data" />
        <Field label="Size" value={size} max={20} example="200G" hint="10G, 512M or bytes. Empty: as large as the archive below." />
        <Field label="Restore of archive" value={archive} max={63} hint="Empty: an empty volume." />
        <Field label="Attach to PDCI" value={pdci} max={63} hint="May be empty: it can be attached later." />
        {isSite.value && <Field label="Storage" value={storage} max={63} hint="Empty: the one with the most room. Of an archive it is the archive's." />}
      </>
    ),
    line: () => {
      const rest = option("size", said(size)) + option("tenant", said(tenant)) + option("pdci", said(pdci));
      return said(archive) ? `haasctl volume restore ${quote(archive.value.trim())} ${quote(name.value || "NAME")}${rest}` : `haasctl volume create ${quote(name.value || "NAME")}${rest || " --size SIZE"}${option("storage", said(storage))}`;
    },
    act: async () => {
      const body = {
        name: name.value.trim(), ...(said(size) || !said(archive) ? {size_bytes: sizeOf(size.value)} : {}), ...(said(archive) ? {archive: archive.value.trim()} : {}),
        ...(said(pdci) ? {pdci: pdci.value.trim()} : {}), ...(said(tenant) ? {tenant: tenant.value.trim()} : {}), ...(said(storage) && !said(archive) ? {storage: storage.value.trim()} : {}),
      };
      await write("POST /api/v1/volumes", {body});
      await readAgain();
    },
  };
}

export function attach(one: Volume, pdcis: string[]): Ask {
  const pdci = signal(pdcis[0] ?? "");
  return {
    title: `Attach volume ${one.name}`, noun: "volume", names: [one.name], button: "Attach", reason: "kept",
    children: <Choice label="To PDCI" value={pdci} words={pdcis.map((name): [string, string] => [name, name])} />,
    line: () => lineOf("attach", one, ` ${quote(pdci.value)}`),
    act: async (why) => {
      await write("POST /api/v1/volumes/{volume}/actions", {...placeOf(one), body: {action: "attach", pdci: pdci.value}, why});
      await readAgain(one);
    },
  };
}

export function detach(one: Volume): Ask {
  return {
    title: `Detach volume ${one.name}`, noun: "volume", names: [one.name], button: "Detach", reason: "kept", destructive: true,
    children: <p>No node of PDCI <b>{one.pdci}</b> reaches it any more: unmount it there first. Its data stays.</p>,
    line: () => lineOf("detach", one),
    act: async (why) => {
      await write("POST /api/v1/volumes/{volume}/actions", {...placeOf(one), body: {action: "detach"}, why});
      await readAgain(one);
    },
  };
}

export function grow(one: Volume): Ask {
  const size = signal("");
  return {
    title: `Grow volume ${one.name}`, noun: "volume", names: [one.name], button: "Grow", reason: "kept",
    children: <Field label="New size" value={size} required max={20} example="400G" hint={`It has ${bytes(one.size_bytes)}, and never gets smaller again.`} />,
    line: () => lineOf("resize", one, ` ${quote(size.value || "SIZE")}`),
    act: async (why) => {
      await write("POST /api/v1/volumes/{volume}/actions", {...placeOf(one), body: {action: "resize", size_bytes: sizeOf(size.value)}, why});
      await readAgain(one);
    },
  };
}

export function archive(one: Volume): Ask {
  const name = signal("");
  return {
    title: `Archive volume ${one.name}`, noun: "volume", names: [one.name], button: "Archive", reason: "kept",
    children: <Field label="Name of the archive" value={name} required max={63} example={`${one.name}-2026-11`} hint="A copy on the same storage. It counts for the limit too." />,
    line: () => lineOf("archive", one, ` ${quote(name.value || "NAME")}`),
    act: async (why) => {
      await write("POST /api/v1/volumes/{volume}/actions", {...placeOf(one), body: {action: "archive", name: name.value.trim()}, why});
      await readAgain(one);
    },
  };
}

export function newSecret(one: Volume): Ask {
  return {
    title: "A new secret", noun: "volume", names: [one.name], button: "Make a secret", reason: "kept", destructive: true,
    children: <p>The old one counts no more, also for nodes that got it at their installation: they have to log in anew.</p>,
    line: () => lineOf("secret", one),
    act: async (why) => {
      const told = (await write("POST /api/v1/volumes/{volume}/actions", {...placeOf(one), body: {action: "secret"}, why})) as Volume;
      tellOnce({title: `The CHAP secret of volume ${one.name}, user ${told.user}`, secret: told.secret ?? "", next: "A node's initiator logs in by it."});
      await readAgain(one);
    },
  };
}

export function remove(one: Volume): Ask {
  return {
    title: `Delete volume ${one.name}`, noun: "volume", names: [one.name], button: "Delete", reason: "kept", destructive: true,
    children: <p>Its {bytes(one.size_bytes)} are overwritten with zeros and read back. Nobody can bring the data back; archives of it stay.</p>,
    line: () => lineOf("delete", one),
    act: async (why) => {
      await write("DELETE /api/v1/volumes/{volume}", {...placeOf(one), why});
      await readAgain(one);
    },
  };
}

const storageOf = (one: Storage): Members => ({accepts: one.accepts, capacity: one.capacity_bytes === null ? "no limit" : bytes(one.capacity_bytes), portal: one.portal});
export const writtenOf = (storage: string): Written => ({kind: "storage.put", subject_kind: "storage", subject: storage});

export function accept(one: Storage): Ask {
  return {
    title: one.accepts ? `No new volumes on ${one.name}` : `New volumes on ${one.name}`, noun: "storage", names: [one.name], button: one.accepts ? "Take no new ones" : "Take new ones", reason: "kept",
    children: <p>{one.accepts ? "Volumes that are there stay, and are served." : "Volumes are made here again, as long as there is room."}</p>,
    line: () => `haasctl storage set ${quote(one.name)} --accepts ${one.accepts ? "no" : "yes"}`,
    edits: editsOf(`Storage ${one.name}`, {accepts: "Takes new volumes", capacity: "At most", portal: "Portal"}, one, storageOf, () => ({accepts: !one.accepts}), writtenOf(one.name)),
    act: async (why, version = one.version) => {
      await write("PUT /api/v1/storages/{storage}", {place: {storage: one.name}, body: {accepts: !one.accepts}, version, why});
      await storages().reload();
    },
  };
}
