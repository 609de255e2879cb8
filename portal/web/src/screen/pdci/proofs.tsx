// The proofs that what its nodes had was erased, as bampid signed them: one for each node that was given back or replaced. They outlive the PDCI.
import {readAll, saveFile} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import type {Certificate, Pdci} from "../../api/types";
import {Command, quote} from "../../part/command";
import {Empty, Shown} from "../../part/screen";
import {when} from "../../part/time";

/** Of one request: a filter has 1,000 characters at most. */
const MANY = 80;

const proofs = (pdci: Pdci, deployments: number[]) =>
  sourceOf<Certificate[]>(`proofs ${pdci.id} ${deployments.join()}`, () => ({
    load: async () => {
      const found: Certificate[] = [];
      for (let from = 0; from < deployments.length; from += MANY) found.push(...(await readAll("/api/v1/certificates", {q: `deployment=${deployments.slice(from, from + MANY).join()}`})));
      return found;
    },
    touches: (event) => event.kind === "deployment.done",
    every: () => 60000,
  }));

const save = (name: string, list: Certificate[]) => saveFile(JSON.stringify(list, null, 2), "application/json", `${name}.json`);

function drivesOf(one: Certificate): number {
  try {
    return (JSON.parse(one.body) as {drives?: unknown[]}).drives?.length ?? 0;
  } catch {
    return 0;
  }
}

export function Proofs({pdci}: {pdci: Pdci}) {
  const ids = [...new Set((pdci.nodes ?? []).map((one) => one.deployment).filter((one) => one?.plan === "release").map((one) => one!.id))].sort((a, b) => a - b);
  const source = proofs(pdci, ids);
  const held = useSource(source);
  return (
    <Shown held={held} what="the proofs" again={() => void source.reload()}>
      {(list) =>
        list.length === 0 ? <Empty title="No proof of erasure yet"><p>One is signed for each node that is given back or replaced, when its drives were erased.</p></Empty> : (
          <>
            <section class="panel flush" aria-label="Proofs of erasure">
              <header><h2>Proofs of erasure</h2><button type="button" class="button" onClick={() => save(`${pdci.name}-proofs`, list)}>Save all {list.length} as JSON</button></header>
              <div class="scroll" tabIndex={0} role="region" aria-label="Table of proofs">
                <table class="plain">
                  <thead><tr><th>Node</th><th class="number">Certificate</th><th class="number">Drives</th><th class="number">Signed</th><th class="wide">Hash</th><th><span class="hidden">Actions</span></th></tr></thead>
                  <tbody>
                    {list.map((one) => (
                      <tr key={one.id}>
                        <td class="mono">{one.node}</td>
                        <td class="number"><a href={`/certificates?at=${one.id}`}>{one.id}</a></td>
                        <td class="number">{drivesOf(one)}</td>
                        <td class="number">{when(one.created_at)}</td>
                        <td class="mono wide">{one.hash.slice(0, 16)}</td>
                        <td class="number"><button type="button" class="button small" aria-label={`Save certificate ${one.id}`} onClick={() => save(`certificate-${one.id}`, [one])}>Save</button></td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </section>
            <Command line={`haasctl certificate list --where ${quote(`deployment=${ids.slice(0, MANY).join()}`)} -o json`} />
          </>
        )
      }
    </Shown>
  );
}
