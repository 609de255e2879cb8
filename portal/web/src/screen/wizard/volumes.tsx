// Shared volumes: new ones, restored archives, or some that the tenant has.
import {useSource} from "../../api/source";
import {bytes} from "../../part/time";
import {change, changeAt, draft, removeAt, sizeOf, type VolumeDraft} from "./draft";
import {Choice, Text} from "./field";
import {archives, volumes} from "./sources";

function Volume({at}: {at: number}) {
  const one = draft.value.volumes[at]!;
  const there = (useSource(volumes(draft.value.tenant)).value ?? []).filter((volume) => volume.kind === "shared" && volume.state === "detached");
  const kept = (useSource(archives(draft.value.tenant)).value ?? []).filter((archive) => archive.state === "ready");
  const set = (more: Partial<VolumeDraft>) => changeAt("volumes", at, more);
  const size = sizeOf(one.size);
  return (
    <fieldset class="panel">
      <legend>Volume {at + 1}</legend>
      <div class="fields">
        <Choice
          label="From" pointer={`/volumes/${at}/kind`} value={one.kind} set={(kind) => set({kind: kind as "new"})}
          choices={[["new", "a new one"], ["archive", `an archive (${kept.length})`], ["there", `one that is there (${there.length})`]]}
        />
        {one.kind === "there" ? (
          <Choice label="Volume" pointer={`/volumes/${at}/volume`} value={one.name} set={(name) => set({name})} choices={there.map((volume): [string, string] => [volume.name, `${volume.name} (${bytes(volume.size_bytes)})`])} />
        ) : (
          <Text label="Name" pointer={`/volumes/${at}/name`} value={one.name} set={(name) => set({name})} mono placeholder="data" />
        )}
        {one.kind === "new" && <Text label="Size" pointer={`/volumes/${at}/size_bytes`} value={one.size} set={(value) => set({size: value})} placeholder="500G, 2T" hint={one.size ? (size ? bytes(size) : "a size is like 500G or 2T") : undefined} />}
        {one.kind === "archive" && <Choice label="Archive" pointer={`/volumes/${at}/archive`} value={one.archive} set={(archive) => set({archive})} choices={kept.map((archive): [string, string] => [archive.name, `${archive.name} (${bytes(archive.size_bytes)})`])} />}
        {one.kind !== "there" && (
          <Choice
            label="When the PDCI is released" pointer={`/volumes/${at}/keep`} value={one.keep ? "keep" : "delete"} set={(value) => set({keep: value === "keep"})}
            choices={[["keep", "it stays mine"], ["delete", "it is deleted"]]}
          />
        )}
      </div>
      <div class="actions"><button type="button" class="button" onClick={() => removeAt("volumes", at)}>Remove volume {at + 1}</button></div>
    </fieldset>
  );
}

export function VolumesStep() {
  const one = draft.value;
  const add = () => change({volumes: [...one.volumes, {kind: "new", name: one.volumes.length ? `data${one.volumes.length + 1}` : "data", size: "100G", archive: "", keep: true}]});
  return (
    <div class="stack">
      <p class="quiet">A volume is served by iSCSI to all nodes of the PDCI. Local disks come with the nodes.</p>
      {one.volumes.map((_, at) => <Volume key={at} at={at} />)}
      <div class="actions"><button type="button" class="button" disabled={one.volumes.length >= 64} onClick={add}>Add a volume</button></div>
    </div>
  );
}
