// The hardware as the agent reported it. Its texts come from the node: they are shown, never believed.
import {useSource, type Source} from "../../api/source";
import type {Inventory} from "../../api/types";
import {quote} from "../../part/command";
import {Facts} from "../../part/panel";
import {Shown} from "../../part/screen";
import {bytes, when} from "../../part/time";

type Loose = Record<string, unknown>;

const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : null);
const list = (value: unknown): Loose[] => (Array.isArray(value) ? value.filter((one): one is Loose => typeof one === "object" && one !== null) : []);
const size = (value: unknown): string => (typeof value === "number" ? bytes(value) : "");

function cpuOf(data: Loose): string | null {
  const cpu = data.cpu;
  if (typeof cpu !== "object" || cpu === null) return text(cpu);
  const one = cpu as Loose;
  const cores = text(one.cores) ?? text(one.count) ?? text(one.threads);
  return [text(one.model), cores && `${cores} cores`].filter(Boolean).join(", ") || null;
}

export function Hardware({name, source}: {name: string; source: Source<Inventory>}) {
  const held = useSource(source);
  const none = held.refusal?.status === 404;
  return (
    <section class="panel" aria-label="Hardware">
      <header><h2>Hardware</h2>{held.value && <span class="quiet small">found {when(held.value.at)}</span>}</header>
      {none ? <p class="quiet">No agent has run on it yet: <span class="mono">haasctl deployment create {quote(name)} --plan inspect</span></p> : (
        <Shown held={held} what="its inventory" again={() => void source.reload()}>
          {({data}) => (
            <Facts
              rows={[
                ["Product", [text(data.vendor), text(data.product)].filter(Boolean).join(" ")],
                ["CPU", cpuOf(data)],
                ["Memory", size(data.memory_bytes)],
                ["GPUs", list(data.gpus).length ? `${list(data.gpus).length} × ${text(list(data.gpus)[0]?.model) ?? text(list(data.gpus)[0]?.name) ?? "unknown"}` : null],
                ["Disks", list(data.disks).length ? <ul>{list(data.disks).map((disk, at) => <li key={at}><span class="mono">{text(disk.name)}</span> {size(disk.size_bytes)} <span class="quiet">{text(disk.model)}</span></li>)}</ul> : null],
              ]}
            />
          )}
        </Shown>
      )}
    </section>
  );
}
