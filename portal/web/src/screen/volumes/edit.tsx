// What a storage may take, and where nodes reach it.
import {write} from "../../api/client";
import type {Storage} from "../../api/types";
import {quote} from "../../part/command";
import {Edit, type EditField, type Values} from "../../part/edit";
import {bytes} from "../../part/time";
import {sizeOf, writtenOf} from "./actions";
import {storages} from "./sources";

const FIELDS: Record<string, EditField> = {
  capacity: {title: "At most, for volumes and archives", max: 20, hint: "20T, 500G or bytes"},
  accepts: {title: "New volumes", words: [["yes", "are taken"], ["no", "are not taken"]]},
  portal: {title: "Portal, ADDRESS:PORT where nodes reach it"},
};

/** 20T where that is exactly it, else bytes. */
function sizeText(size: number | null): string {
  if (size === null) return "";
  for (const [unit, shift] of [["T", 40], ["G", 30], ["M", 20]] as const) if (size % 2 ** shift === 0) return `${size / 2 ** shift}${unit}`;
  return String(size);
}

const valuesOf = (one: Storage): Values => ({capacity: sizeText(one.capacity_bytes), accepts: one.accepts ? "yes" : "no", portal: one.portal});

export function EditStorage({of, close}: {of: Storage; close: () => void}) {
  const place = {storage: of.name};
  return (
    <Edit
      title={<>Edit storage <span class="mono">{of.name}</span></>} what={`Storage ${of.name}`} by={writtenOf(of.name)} fields={FIELDS} of={of} valuesOf={valuesOf} close={close}
      line={(changed) => `haasctl storage set ${quote(of.name)}${Object.entries(changed).map(([name, value]) => ` --${name} ${quote(value || "SIZE")}`).join("")}`}
      save={async ({capacity, accepts, portal}, base) => {
        await write("PUT /api/v1/storages/{storage}", {place, body: {...(capacity !== undefined ? {capacity_bytes: sizeOf(capacity)} : {}), ...(accepts ? {accepts: accepts === "yes"} : {}), ...(portal ? {portal} : {})}, version: base.version});
        void storages().reload();
      }}
    >
      <p class="quiet">{bytes(of.used_bytes)} are spoken for{of.total_bytes === null ? "" : `, its disk has ${bytes(of.total_bytes)}`}.</p>
    </Edit>
  );
}
