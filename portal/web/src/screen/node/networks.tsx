// Which networks a node's NICs are in: all of them said at once, against what was read.
import {readVersion, write} from "../../api/client";
import {nodeNetworks} from "../../api/sources";
import type {Node, NodeNetworks} from "../../api/types";
import {quote} from "../../part/command";
import {Edit, Fresh, type Values} from "../../part/edit";

type Of = {value: NodeNetworks; version: number};

const words = (text: string | undefined) => (text ?? "").split(/[\s,]+/).filter(Boolean);

export function EditNetworks({node, close}: {node: Node; close: () => void}) {
  const place = {node: node.name};
  const read = () => readVersion("/api/v1/nodes/{node}/networks", place);
  // A bond has a name of its own: it is no NIC of the node.
  const nicsOf = ({value}: Of) => [...new Set([...node.nics.map((nic) => nic.name), ...value.networks.map((one) => one.nic)])];
  const valuesOf = (of: Of): Values => Object.fromEntries(nicsOf(of).map((nic) => [nic, of.value.networks.filter((one) => one.nic === nic).map((one) => one.network + (one.mode && one.mode !== "access" ? `:${one.mode}` : "")).join(", ")]));
  const said = (mine: Values) => Object.entries(mine).flatMap(([nic, text]) => words(text).map((word) => `${nic}=${word}`));
  return (
    <Fresh read={read}>
      {(of) => (
        <Edit
          title={<>Networks of <span class="mono">{node.name}</span></>} what={`The networks of ${node.name}`} by={{subject_kind: "node", subject: node.name}} of={of} valuesOf={valuesOf} close={close} now={read}
          fields={Object.fromEntries(nicsOf(of).map((nic) => [nic, {title: nic, max: 600}]))}
          line={(_, mine) => `haasctl node networks ${quote(node.name)} ${said(mine).map(quote).join(" ") || "--none"}`}
          save={async (_, base, mine) => {
            const networks = Object.entries(mine).flatMap(([nic, text]) => words(text).map((word) => {
              const [network = "", mode = "access"] = word.split(":");
              return {nic, network, mode: mode as "access"};
            }));
            await write("PUT /api/v1/nodes/{node}/networks", {place, body: {networks}, version: base.version});
            void nodeNetworks(node.name).reload();
          }}
        >
          <p class="quiet">Names of networks, as front, store:tagged or store:native. One that is at its tenant changes at once.</p>
        </Edit>
      )}
    </Fresh>
  );
}
