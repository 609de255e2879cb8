// Its drives as the last inventory found them, and what its last erase made of each.
import {useSource} from "../../api/source";
import {quote} from "../../part/command";
import {Mark, type Shape} from "../../part/mark";
import {Shown} from "../../part/screen";
import {bytes, when} from "../../part/time";
import {nodeDrives} from "./sources";

const VERDICT: Record<string, Shape> = {erased: "ok", failed: "fail", skipped: "wait", unknown: "idle", pending: "work"};
const SAYS: Record<string, string> = {unknown: "never erased by us", pending: "is erased now"};

export function Drives({name}: {name: string}) {
  const source = nodeDrives(name);
  const held = useSource(source);
  return (
    <section class="panel flush" aria-label="Drives">
      <header><h2>Drives</h2>{held.value && held.value.items.length > 0 && <span class="quiet small">{held.value.items.length}, {bytes(held.value.items.reduce((sum, one) => sum + one.size_bytes, 0))}</span>}</header>
      <Shown held={held} what="its drives" again={() => void source.reload()}>
        {({items}) =>
          items.length === 0 ? <p class="quiet small pad">No agent has listed its drives: <span class="mono">haasctl deployment create {quote(name)} --plan inspect</span></p> : (
            <div class="scroll" tabIndex={0} role="region" aria-label="Table of drives">
              <table class="plain">
                <thead><tr><th>Drive</th><th class="wide">Model</th><th class="wide">Serial</th><th class="number">Size</th><th>Last erase</th></tr></thead>
                <tbody>
                  {items.map((one) => (
                    <tr key={one.serial}>
                      <td class="mono">{one.name || "gone"}<span class="quiet"> {one.kind}</span></td>
                      <td class="wide">{one.model}</td>
                      <td class="mono wide">{one.serial}</td>
                      <td class="number">{bytes(one.size_bytes)}</td>
                      <td>
                        <Mark shape={VERDICT[one.verdict] ?? "idle"}>{SAYS[one.verdict] ?? one.verdict}</Mark>
                        <span class="quiet small"> {[one.method, one.verdict_at && when(one.verdict_at)].filter(Boolean).join(", ")}</span>
                        {one.reason && <p class="small">{one.reason}</p>}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Shown>
    </section>
  );
}
