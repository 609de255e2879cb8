// One node: its reason first, then what to do, labels, what it is made of, drives, NICs and ports, sensors and their last day, event log, story.
import {useSource} from "../../api/source";
import {node as nodeSource, nodeHealth, nodeInventory, nodeNetworks, nodePlaces} from "../../api/sources";
import type {Node} from "../../api/types";
import {isSite, may} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {Mark, shapeOf} from "../../part/mark";
import {Facts} from "../../part/panel";
import {Head, Numbers, Shown} from "../../part/screen";
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

function Made({node}: {node: Node}) {
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
              <Made node={node} />
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
