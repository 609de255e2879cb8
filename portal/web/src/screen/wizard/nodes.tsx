// Which nodes: groups of a class with an image, how they lie, whether a spare comes by itself.
import {useSource} from "../../api/source";
import {isSite} from "../../app/session";
import {bytes, count} from "../../part/time";
import {change, changeAt, draft, newGroup, removeAt} from "./draft";
import {Choice, Field, Text, Wrong} from "./field";
import {classes, images, tenants} from "./sources";

/** As an option says it: what is in such a node. */
function hardware(one: {hardware: {product: string; gpus: (string | null)[]; memory_bytes: number | null; disks: unknown[]} | null}): string {
  const found = one.hardware;
  if (!found) return "";
  const gpus = found.gpus.length ? `${found.gpus.length} × ${found.gpus[0] ?? "GPU"}, ` : "";
  return `${gpus}${found.memory_bytes ? `${bytes(found.memory_bytes)}, ` : ""}${found.disks.length} ${found.disks.length === 1 ? "disk" : "disks"}`;
}

function Group({at}: {at: number}) {
  const group = draft.value.groups[at]!;
  const offered = useSource(classes(draft.value.tenant)).value?.items ?? [];
  const ready = (useSource(images()).value ?? []).filter((one) => one.state === "ready");
  const chosen = offered.find((one) => one.class === group.class);
  const free = group.class ? chosen?.free ?? 0 : offered.reduce((sum, one) => sum + one.free, 0);
  const set = (more: Partial<typeof group>) => changeAt("groups", at, more);
  return (
    <fieldset class="panel">
      <legend>Group {at + 1}</legend>
      <div class="fields">
        <Choice
          label="Class" pointer={`/groups/${at}/class`} value={group.class} set={(value) => set({class: value})}
          choices={[["", "any class"], ...offered.map((one): [string, string] => [one.class, `${one.class} (${count(one.free)} free)`])]}
          hint={chosen ? hardware(chosen) : undefined}
        />
        <Field label="Nodes" pointer={`/groups/${at}/count`} hint={`${count(free)} free${free < group.count ? ": it would wait" : ""}`}>
          {(id) => <input id={id} type="number" min={1} max={4096} value={group.count} onInput={(event) => set({count: Number(event.currentTarget.value)})} />}
        </Field>
        <Choice
          label="Image" pointer={`/groups/${at}/image`} value={group.image} set={(value) => set({image: value})}
          choices={ready.map((one): [string, string] => [`${one.name}:${one.version}`, `${one.name}:${one.version} (${bytes(one.size_bytes)})`])}
        />
      </div>
      <div class="fields">
        <Text label="Local disks, at least" pointer={`/groups/${at}/disks/count`} value={group.disks} set={(value) => set({disks: value.replace(/\D/g, "")})} placeholder="any" />
        <Text label="Each of at least" pointer={`/groups/${at}/disks/min_bytes`} value={group.min_disk} set={(value) => set({min_disk: value})} placeholder="any, or 960G, 2T" />
        <Choice
          label="Kind" pointer={`/groups/${at}/disks/rotational`} value={group.disk_kind} set={(value) => set({disk_kind: value as "flash"})}
          choices={[["", "any"], ["flash", "flash"], ["rotating", "hard disks"]]}
        />
      </div>
      {draft.value.groups.length > 1 && <div class="actions"><button type="button" class="button" onClick={() => removeAt("groups", at)}>Remove group {at + 1}</button></div>}
    </fieldset>
  );
}

/** Whose it is: only an operator asks for others. */
function Owner() {
  const there = useSource(tenants()).value ?? [];
  return <Choice label="Tenant" pointer="/tenant" value={draft.value.tenant} set={(tenant) => change({tenant})} choices={there.map((one): [string, string] => [one.name, one.name])} />;
}

export function NodesStep() {
  const one = draft.value;
  return (
    <div class="stack">
      <div class="fields">
        {isSite.value && <Owner />}
        <Text label="Name of the PDCI" pointer="/name" value={one.name} set={(name) => change({name})} placeholder="train1" mono />
      </div>
      {one.groups.map((_, at) => <Group key={at} at={at} />)}
      <Wrong pointer="/groups" />
      <div class="actions"><button type="button" class="button" disabled={one.groups.length >= 16} onClick={() => change({groups: [...one.groups, newGroup()]})}>Add a group</button></div>
      <div class="fields">
        <Choice
          label="Where they lie" pointer="/spread" value={one.spread} set={(spread) => change({spread: spread as "near"})}
          choices={[["near", "near: few racks and leaf switches"], ["rack", "apart: over many racks"]]}
        />
        <Choice
          label="When a node fails" pointer="/spare" value={one.spare} set={(spare) => change({spare: spare as "none"})}
          choices={[["none", "I have it replaced"], ["automatic", "a spare takes its place, once"]]}
        />
      </div>
    </div>
  );
}
