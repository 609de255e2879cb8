// Things that the API makes, changes and forgets one by one: each is a row of a table here, and its form, its body and its haasctl line come from that row.
import type {ComponentChildren} from "preact";
import {useState} from "preact/hooks";
import {readVersion, Refusal, write} from "../api/client";
import type {Reads, Writes} from "../api/types";
import {quote} from "./command";
import type {Ask} from "./dialog";
import {Edit, Fresh, type EditField, type Values} from "./edit";
import {sizeOf, sizeText} from "./size";

export interface ThingField extends EditField {
  /** Of haasctl; without it the name with dashes. "": the value alone. Two flags: of yes and of no. Or words made of all values. */
  option?: string | readonly [string, string] | ((mine: Values) => string);
  /** What stands there at first in a new one. */
  start?: string;
  /** The member that it lies in, which goes out as a whole. */
  inside?: string;
}

type Members = Record<string, unknown>;

export interface Thing {
  /** "subnet". */
  noun: string;
  put: keyof Writes;
  gone?: keyof Writes;
  /** Words of haasctl before the name: "subnet set", "subnet delete". */
  line: string;
  /** "$" stands for the name, where it is not the last word. */
  goneLine?: string;
  fields: Record<string, ThingField>;
  /** How its name is called, where it is another thing's or no name. null: it has none. */
  key?: string | null;
  /** Of the answer to GET, what has the members. */
  of?: (answer: never) => Members | null | undefined;
  /** All members go out: what is left out would be as if it was never set. */
  whole?: boolean;
  /** It is asked for, and there is nothing to read before. */
  asked?: boolean;
  /** Members that no field has. */
  given?: Members;
  subject?: string;
  note?: ComponentChildren;
  /** What goes with it. */
  lost?: ComponentChildren;
  button?: string;
  title?: string;
  again: () => void;
}

interface Read {
  value: Members;
  version: number | undefined;
}

/** Of the field of its name: no member is called so. */
const KEY = "itself";

function secretsOf(text: string): Members {
  return Object.fromEntries(text.split("\n").filter((line) => line.trim()).map((line, at) => {
    const found = /^\s*(\w+)=(.*)$/.exec(line);
    if (!found) throw new Refusal(422, {title: `line ${at + 1} of the secrets is not NAME=VALUE`}); // its text is a secret
    return [found[1]!, found[2]!];
  }));
}

const listOf = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** As the API takes it; null: none. */
function typed({as}: ThingField, text: string): unknown {
  if (as === "list") return listOf(text);
  if (as === "secrets") return secretsOf(text);
  if (as === "yes") return text === "yes";
  if (!text.trim()) return null;
  return as === "size" ? sizeOf(text) : as ? Number(text) : text.trim();
}

/** As it stands in the form. */
function shown({as}: ThingField, value: unknown): string {
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? value.join(", ") : typeof value === "boolean" ? (value ? "yes" : "no") : as === "size" ? sizeText(value as number) : String(value as string);
}

const member = (value: Members, name: string, {inside}: ThingField) => (inside ? (value[inside] as Members | undefined) : value)?.[name];

/** What goes out: `names` are the fields that count. Without a value: left out of a whole, else null. */
export function bodyOf({fields, whole}: Thing, names: string[], mine: Values, base: Members): Members {
  const body: Members = {};
  for (const name of names) {
    const field = fields[name];
    if (!field) continue;
    const value = typed(field, mine[name] ?? "");
    if (field.inside) {
      const within = (body[field.inside] ??= {...(base[field.inside] as Members | undefined)}) as Members;
      if (value === null) delete within[name];
      else within[name] = value;
    } else if (value !== null || !whole) body[name] = value;
  }
  return body;
}

function optionOf(name: string, field: ThingField, text: string, mine: Values): string {
  const {option = `--${name.replaceAll("_", "-")}`, as} = field;
  if (typeof option === "function") return option(mine);
  if (typeof option !== "string") return option[text === "yes" ? 0 : 1];
  if (as === "secrets") return text ? `${option} FILE` : "";
  if (as === "list" && text.trim()) return listOf(text).map((one) => `${option} ${quote(one)}`.trim()).join(" ");
  return `${option} ${quote(!text.trim() ? "none" : as === "seconds" ? `${text}s` : text.trim())}`.trim();
}

export function lineOf({line, fields}: Thing, name: string | null, changed: Values, mine: Values): string {
  const options = Object.keys(fields).filter((one) => one in changed).map((one) => optionOf(one, fields[one]!, changed[one]!, mine));
  return ["haasctl", line, name === null ? "" : quote(name || "NAME"), ...new Set(options)].filter(Boolean).join(" ");
}

const placeOf = (what: keyof Writes, name: string) => ({[/{(\w+)}/.exec(what)?.[1] ?? ""]: name});

/** `name`: it is there; without one a new one is made. */
export function ThingForm({thing, name, start, close}: {thing: Thing; name?: string | undefined; start?: Values | undefined; close: () => void}) {
  const {noun, put, key = "Name", asked} = thing;
  const fresh = name === undefined || !!asked;
  const own = name === undefined && key !== null;
  const read = async (): Promise<Read> => {
    if (fresh) return {value: {}, version: undefined};
    const {value, version} = await readVersion(put.split(" ")[1]!.replace("/management", "") as keyof Reads, placeOf(put, name!));
    return {value: (thing.of ? thing.of(value as never) : (value as Members)) ?? {}, version};
  };
  const fields: Record<string, ThingField> = own ? {[KEY]: {title: key}, ...thing.fields} : thing.fields;
  const valuesOf = ({value}: Read): Values => Object.fromEntries(Object.entries(fields).map(([one, field]) => {
    const is = member(value, one, field);
    return [one, is === undefined ? start?.[one] ?? field.start ?? "" : shown(field, is)];
  }));
  const nameOf = (mine: Values) => (key === null ? null : own ? (mine[KEY] ?? "").trim() : name!);
  return (
    <Fresh read={read}>
      {(of) => (
        <Edit
          title={thing.title ?? <>{own || asked ? "New " : "Edit "}{noun}{name !== undefined && <> <span class="mono">{name}</span></>}</>}
          what={`The ${noun} ${name ?? ""}`} by={{subject_kind: thing.subject ?? noun, ...(name === undefined ? {} : {subject: name})}} fields={fields} of={of} valuesOf={valuesOf} close={close} now={read} button={thing.button ?? (own ? "Make" : "Save")}
          line={(changed, mine) => lineOf(thing, nameOf(mine), fresh ? mineOnly(mine) : changed, mine)}
          save={async (changed, base, mine) => {
            const names = thing.whole ? Object.keys(thing.fields) : Object.keys(fresh ? mineOnly(mine) : changed);
            await write(put as "PUT /api/v1/subnets/{subnet}", {place: placeOf(put, nameOf(mine) ?? "") as never, body: {...thing.given, ...bodyOf(thing, names, mine, base.value)} as never, ...(base.version === undefined ? {} : {version: base.version})}).catch((error: Refusal) => {
              throw own && error.status === 428 ? new Refusal(409, {title: `${noun} ${nameOf(mine)} is there already`, hint: "choose it in the list to change it"}) : error;
            });
            thing.again();
          }}
        >
          {thing.note && <p class="quiet">{thing.note}</p>}
        </Edit>
      )}
    </Fresh>
  );
}

/** What was filled in. */
const mineOnly = (mine: Values): Values => Object.fromEntries(Object.entries(mine).filter(([name, text]) => name !== KEY && text.trim()));

/** Forgets one. `version`: of what was read, where the API wants it. */
export function forget({noun, gone, goneLine = "", lost, again}: Thing, name: string, version?: number): Ask {
  return {
    title: `Delete ${noun} ${name}`, noun, names: [name], button: "Delete", destructive: true,
    children: lost && <p>{lost}</p>,
    line: () => `haasctl ${(goneLine.includes("$") ? goneLine : `${goneLine} $`).replace("$", () => quote(name))}`,
    act: async () => {
      await write(gone as "DELETE /api/v1/subnets/{subnet}", {place: placeOf(gone!, name) as never, ...(version === undefined ? {} : {version})});
      again();
    },
  };
}

/** The form that is open, and what opens one. */
export function useThing(): [ComponentChildren, (thing: Thing, name?: string, start?: Values) => void] {
  const [open, setOpen] = useState<[Thing, string?, Values?]>();
  return [open && <ThingForm key={`${open[0].noun} ${open[1]}`} thing={open[0]} name={open[1]} start={open[2]} close={() => setOpen(undefined)} />, (...what) => setOpen(what)];
}
