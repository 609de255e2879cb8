// NICs to ports, and the networks that they are in.
import {useState} from "preact/hooks";
import {useSource, type Source} from "../../api/source";
import type {LocationPage, Node, NodeNetworks} from "../../api/types";
import {may} from "../../app/session";
import {Mark} from "../../part/mark";
import {Why} from "../../part/panel";
import {EditNetworks} from "./networks";

type Places = LocationPage["items"];

const nothing = {held: {value: {value: undefined, at: 0, busy: false}}, watch: () => () => undefined} as unknown as Source<Places>;

function speed(bps: number | null | undefined): string {
  return bps ? `${bps >= 1e9 ? bps / 1e9 : bps / 1e6} ${bps >= 1e9 ? "Gbit/s" : "Mbit/s"}` : "";
}

export function Nics({node, networks, places}: {node: Node; networks: Source<NodeNetworks>; places: Source<Places> | undefined}) {
  const nets = useSource(networks).value;
  const [editing, setEditing] = useState(false);
  const ports = useSource(places ?? nothing).value ?? [];
  const portOf = (mac: string) => ports.find((one) => one.mac === mac);
  const netsOf = (nic: string) => (nets?.networks ?? []).filter((one) => one.nic === nic).map((one) => `${one.network}${one.mode === "tagged" ? ", tagged" : ""}`);
  return (
    <section class="panel flush" aria-label="NICs">
      <header>
        <h2>NICs and ports</h2>
        {nets && <span class="quiet small">ports in {nets.place === "tenant" ? "the tenant's networks" : nets.place}{nets.applied ? ", read back so" : ", not read back yet"}</span>}
        {may("pdci") && node.tenant && <button type="button" class="button" onClick={() => setEditing(true)}>Networks</button>}
        {editing && <EditNetworks node={node} close={() => setEditing(false)} />}
      </header>
      {nets?.problem && <div style={{padding: "0 16px 12px"}}><Why tone="wait" said={nets.problem} /></div>}
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of NICs">
        <table class="plain">
          <thead><tr><th>NIC</th><th>MAC</th>{places && <th>Port</th>}{places && <th class="number">Speed</th>}<th>Networks</th></tr></thead>
          <tbody>
            {node.nics.map((nic) => {
              const port = portOf(nic.mac);
              return (
                <tr key={nic.mac}>
                  <td class="mono">{nic.name}{nic.boot && <span class="quiet"> boots</span>}</td>
                  <td class="mono">{nic.mac}</td>
                  {places && <td>{port ? <Mark shape={port.up === false ? "fail" : port.up ? "ok" : "idle"}><span class="mono">{port.switch}:{port.port}</span></Mark> : <span class="quiet">nobody saw it</span>}</td>}
                  {places && <td class="number">{speed(port?.speed_bps)}</td>}
                  <td>{netsOf(nic.name).join(", ") || <span class="quiet">none</span>}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
