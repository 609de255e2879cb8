// What its owner may do to an image, a package or an archive: install it no more, take that back, delete it.
import {signal} from "@preact/signals";
import {write} from "../../api/client";
import {isSite, may, me} from "../../app/session";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {source, type Thing} from "./sources";

type State = "ready" | "retired" | "withdrawn";

const placeOf = ({name}: Thing) => ({image: name.slice(0, name.lastIndexOf(":")), version: name.slice(name.lastIndexOf(":") + 1)});
const again = () => void source().reload();

/** An image is its owner's. Packages and archives of tenants are the operators' to delete too. */
export function isMine(one: Thing): boolean {
  if (isSite.value) return may("grant") && (one.kind !== "image" || one.tenant === null);
  return may("pdci") && one.tenant === me.value?.tenant;
}

const SAYS: Record<State, {title: string; button: string; says: string; line: string}> = {
  retired: {title: "Retire", button: "Retire", says: "It is installed no more. An install under way goes on, and so does what runs of it.", line: "retire"},
  withdrawn: {title: "Withdraw", button: "Withdraw", says: "A bad version: it is installed no more, and installs under way stop. What runs of it goes on.", line: "withdraw"},
  ready: {title: "Use again", button: "Use again", says: "It can be installed again.", line: ""},
};

export function change(one: Thing, state: State): Ask {
  const {title, button, says, line} = SAYS[state];
  const older = signal(false);
  const undo = one.state === "withdrawn" ? "withdraw" : "retire";
  return {
    title: `${title} ${one.name}`, noun: "image", names: [one.name], button, destructive: state === "withdrawn", reason: "kept",
    children: (
      <>
        <p>{says}</p>
        {state === "withdrawn" && <label class="check"><input type="checkbox" onChange={(event) => (older.value = event.currentTarget.checked)} />its older versions too, also those that come later</label>}
      </>
    ),
    line: () => `haasctl image ${line || undo} ${quote(one.name)}${state === "ready" ? " --undo" : older.value ? " --older" : ""}`,
    act: async (why) => {
      await write("PATCH /api/v1/images/{image}/{version}", {place: placeOf(one), body: {state, ...(older.value ? {older: true} : {})}, version: one.version, why});
      again();
    },
  };
}

/** Who else loses it, in the words of the API. */
const GONE: Record<Thing["kind"], string> = {
  image: "It goes with its bytes and its grants. It is refused while a PDCI has nodes of it.",
  package: "It goes with its bytes and its grants. An install that has not come to it yet fails and says so.",
  archive: "Its data is destroyed, and its grants go. This cannot be undone.",
};

export function remove(one: Thing): Ask {
  const owner = one.kind === "archive" && isSite.value ? one.tenant ?? undefined : undefined;
  return {
    title: `Delete ${one.name}`, noun: one.kind, names: [one.name], button: "Delete", destructive: true, reason: "kept",
    children: <p>{GONE[one.kind]}</p>,
    line: () => `haasctl ${one.kind} delete ${quote(one.name)}${owner ? ` --tenant ${quote(owner)}` : ""}`,
    act: async (why) => {
      const {image, version} = placeOf(one);
      if (one.kind === "image") await write("DELETE /api/v1/images/{image}/{version}", {place: {image, version}, why});
      else if (one.kind === "package") await write("DELETE /api/v1/packages/{package}/{version}", {place: {package: image, version}, why});
      else await write("DELETE /api/v1/archives/{archive}", {place: {archive: one.name}, query: {tenant: owner}, why});
      again();
    },
  };
}

export function ImageActions({one, ask}: {one: Thing; ask: (ask: Ask) => void}) {
  if (!isMine(one)) return null;
  const to = (state: State) => <button type="button" class={`button ${state === "withdrawn" ? "danger" : ""}`} onClick={() => ask(change(one, state))}>{SAYS[state].button}{state === "withdrawn" && "…"}</button>;
  return (
    <div class="actions">
      {one.kind === "image" && one.state === "ready" && to("retired")}
      {one.kind === "image" && (one.state === "ready" || one.state === "retired") && to("withdrawn")}
      {one.kind === "image" && (one.state === "retired" || one.state === "withdrawn") && to("ready")}
      <button type="button" class="button danger" onClick={() => ask(remove(one))}>Delete…</button>
    </div>
  );
}
