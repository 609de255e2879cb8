// One node: its reason first, then what to do, labels, what it is made of, drives, NICs and ports, sensors and their last day, event log, story.
import {useSource} from "../../api/source";
import {node as nodeSource, nodes, nodeHealth, nodeInventory, nodeNetworks, nodePlaces} from "../../api/sources";
import type {Node} from "../../api/types";
import {go} from "../../app/route";
import {isSite, may} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog, type Ask} from "../../part/dialog";
import {Mark, shapeOf} from "../../part/mark";
import {Facts} from "../../part/panel";
import {Head, Numbers, Shown} from "../../part/screen";
import {forget, type Thing} from "../../part/thing";
import {since, when} from "../../part/time";
import {HANDS, NodeActions} from "../nodes/actions";
import {portOf, stepOf} from "../nodes/columns";
import {WhyOfNode} from "../nodes/nodes";
import {Hardware} from "./hardware";
import {Drives} from "./drives";
import {Labels} from "./labels";
import {Nics} from "./nics";
import {Sensors} from "./sensors";
import {EventLog, Story} from "./story";

function keyNumbers(node: Node, hottest: number | undefined) {
  const step = stepOf(node);
  return [
    {value: node.state, label: `for ${since(node.state_since)}`, tone: toneOf(node)},
    {value: node.power || "unknown", label: node.power_at ? `power, read ${when(node.power_at)}` : "power"},
    ...(hottest === undefined ? [] : [{value: `${hottest} °C`, label: "hottest sensor"}]),
    ...(step ? [{value: step, label: node.deployment?.plan ?? "step", tone: "work" as const}] : []),
  ];
}

function toneOf(node: Node) {
  const shape = shapeOf.node(node.state);
  return shape === "idle" ? undefined : shape;
}

const THING: Thing = {
  noun: "node", put: "PATCH /api/v1/nodes/{node}", gone: "DELETE /api/v1/nodes/{node}", line: "", goneLine: "node delete", fields: {}, lost: "It is forgotten with its story. It is refused while it holds a tenant's data.",
  again: () => {
    void nodes().reload();
    go("/nodes");
  },
};

function Made({node, ask}: {node: Node; ask: (ask: Ask) => void}) {
  const bmc = node.bmc;
  return (
    <section class="panel" aria-label="Facts">
      <header><h2>Facts</h2></header>
      <Facts
        rows={[
          ["Tenant", node.tenant],
          ["PDCI", node.pdci && node.tenant ? <a href={`/pdcis/${encodeURIComponent(node.pdci)}?tenant=${encodeURIComponent(node.tenant)}`}>{node.pdci}</a> : null],
          ["Class", node.class],
          ["Place", node.rack && `${node.rack}${node.unit === null ? "" : `, unit ${node.unit}`}`],
          ["Serial", node.serial && <span class="mono">{node.serial}</span>],
          ["Firmware", `${node.firmware}, secure boot ${node.secure_boot}`],
          ["Address", node.address && <span class="mono">{node.address}</span>],
          ["Port", portOf(node) && <span class="mono">{portOf(node)}</span>],
          ["BMC", bmc && <span><span class="mono">{bmc.address ?? bmc.uri}</span> by {bmc.driver}</span>],
          ["Data", node.dirty ? <Mark shape="wait">not erased since its last tenant</Mark> : "erased"],
          ["Proved", node.attestation && (node.attestation.attested ? `the signed image ran, ${when(node.attestation.at)}` : node.attestation.why)],
        ]}
      />
      {may("node_state") && <div class="actions"><button type="button" class="button danger" onClick={() => ask(forget(THING, node.name, node.version))}>Delete…</button></div>}
    </section>
  );
}

export function NodeScreen({name}: {name: string}) {
  const source = nodeSource(name);
  const held = useSource(source);
  const health = useSource(nodeHealth(name));
  const [dialog, ask] = useDialog();
  const hot = (health.value?.sensors ?? []).filter((one) => one.unit === "C" || /degrees? C|celsius/i.test(one.unit)).map((one) => one.reading ?? -Infinity);
  return (
    <div class="screen">
      <Head title={name} about={<a href="/nodes">{isSite.value ? "Nodes" : "My nodes"}</a>} held={held}>
        {may("console") && <a class="button" href={`/nodes/${encodeURIComponent(name)}/console`}>Console</a>}
      </Head>
      <Shown held={held} what="the node" again={() => void source.reload()}>
        {(node) => (
          <>
            <Numbers rows={keyNumbers(node, hot.length ? Math.round(Math.max(...hot)) : undefined)} />
            <WhyOfNode node={node} />
            <NodeActions nodes={[node]} ask={ask} more={HANDS} />
            <Labels held={health} name={name} open={ask} />
            <div class="columns">
              <Made node={node} ask={ask} />
              <Hardware name={name} source={nodeInventory(name)} />
            </div>
            <Drives name={name} />
            <Nics node={node} networks={nodeNetworks(name)} places={isSite.value ? nodePlaces(name) : undefined} />
            <Sensors held={health} again={() => void nodeHealth(name).reload()} />
            <EventLog name={name} read={health.value?.sel_at} />
            <Story name={name} />
            <Command line={`haasctl node describe ${quote(name)}`} />
          </>
        )}
      </Shown>
      {dialog}
    </div>
  );
}
