// The path between two nodes of a tenant: each cable and link that its networks take, what it carries now, and where it is cut.
import {useState} from "preact/hooks";
import {useSource} from "../../api/source";
import type {Path, PathEnd, PathHop, PathLoad, Topology} from "../../api/types";
import {query, setWords} from "../../app/route";
import {me} from "../../app/session";
import {Command, quote} from "../../part/command";
import {Mark} from "../../part/mark";
import {Panel, Why} from "../../part/panel";
import {Shown} from "../../part/screen";
import {bits} from "../../part/time";
import type {Overlay} from "./draw";
import {noPath, pathBetween} from "./sources";
import {PATH, type Ends} from "./words";

/** Names that the field offers. */
const OFFERED = 500;

/** What `at` in the address says; the tenant is that of the first node. */
export function endsOf(at: string, topology: Topology): Ends | undefined {
  const [a, b] = at.startsWith(PATH) ? at.slice(PATH.length).split("~") : [];
  const tenant = topology.nodes.find((one) => one.node === a)?.tenant ?? query.value.get("tenant") ?? me.value?.tenant;
  return a && b && tenant ? {tenant, a, b} : undefined;
}

export const usePath = (ends: Ends | undefined): Path | undefined => useSource(ends ? pathBetween(ends.tenant, ends.a, ends.b) : noPath()).value ?? undefined;

/** Ports of both ends; of an aggregate those of its cables too. */
function portsOf(hop: PathHop): string[] {
  return (["a", "b"] as const).flatMap((end) => {
    const {switch: name, port} = hop[end];
    return name ? [port, ...hop.members.map((one) => one[end])].filter(Boolean).map((one) => `${name}:${one}`) : [];
  });
}

/** The path drawn over the picture: its links, its two nodes, and the cables of these. */
export function overlayOf(path: Path, topology: Topology, hue: string): Overlay {
  const hops = path.paths.flatMap((one) => one.hops);
  const ports = new Set(hops.flatMap(portsOf));
  const links = topology.links.filter((one) => ports.has(`${one.a_switch}:${one.a_port}`) && ports.has(`${one.b_switch}:${one.b_port}`));
  return {links: new Set(links.map((one) => one.id)), tenant: path.tenant, hue, nodes: new Set([path.a, path.b]), ports};
}

const endText = (end: PathEnd) => (end.node ? `${end.node}:${(end.nics ?? []).join("+")}` : `${end.switch}:${end.port}`);

function loadText(load: PathLoad): string {
  return load ? `${bits(load.bits_per_second)}${load.percent === null ? "" : `, ${load.percent.toFixed(1)} %`}` : "not told";
}

function Hop({hop}: {hop: PathHop}) {
  const bad = hop.faults.length > 0;
  return (
    <li>
      <Mark shape={bad ? "fail" : hop.up ? "ok" : "wait"}><span class="mono">{endText(hop.a)} – {endText(hop.b)}</span></Mark>
      <p class="small quiet">
        {[hop.kind === "cable" ? "cable of the node" : "link", hop.speed_bps && bits(hop.speed_bps), hop.members.length > 1 && `${hop.members.length} cables`, hop.state].filter(Boolean).join(", ")}
      </p>
      <p class="small">there {loadText(hop.forward)}; back {loadText(hop.back)}</p>
      {hop.faults.map((fault) => <p key={fault} class="small fail">{fault}</p>)}
    </li>
  );
}

function Told({path}: {path: Path}) {
  return (
    <>
      {path.paths.map((one) => (
        <section key={`${one.network} ${one.vlan} ${one.fabric}`} aria-label={`In network ${one.network}`}>
          <h3>Network {one.network}{one.vlan !== null && `, VLAN ${one.vlan}`}{one.fabric && ` of ${one.fabric}`}</h3>
          {one.problem ? <Why tone="fail" said={{message: one.problem}} /> : <p><Mark shape={one.state === "whole" ? "ok" : "fail"}>{one.state === "whole" ? "whole, from end to end" : "cut"}</Mark></p>}
          <ol class="suspects">{one.hops.map((hop) => <Hop key={endText(hop.a) + endText(hop.b)} hop={hop} />)}</ol>
          {one.notes.map((note) => <p key={note} class="small quiet">{note}</p>)}
        </section>
      ))}
      {path.load.problem && <p class="small quiet">No traffic of the last seconds: {path.load.problem}</p>}
    </>
  );
}

export function ChosenPath({ends}: {ends: Ends}) {
  const source = pathBetween(ends.tenant, ends.a, ends.b);
  const held = useSource(source);
  return (
    <Panel title={<span class="mono">{ends.a} – {ends.b}</span>}>
      <Shown held={held} what="the path" again={() => void source.reload()}>{(path) => path && <Told path={path} />}</Shown>
      <Command line={`haasctl network path ${[ends.tenant, ends.a, ends.b].map(quote).join(" ")}`} />
    </Panel>
  );
}

/** From a node to another one of its tenant. */
export function PathFrom({node, tenant, topology}: {node: string; tenant: string; topology: Topology}) {
  const [to, setTo] = useState("");
  const others = [...new Set(topology.nodes.filter((one) => one.tenant === tenant && one.node !== node).map((one) => one.node))];
  if (others.length === 0) return null;
  const open = (event: Event) => {
    event.preventDefault();
    if (to.trim()) setWords({at: `${PATH}${node}~${to.trim()}`});
  };
  return (
    <form class="field" onSubmit={open}>
      <label for="path-to">Path to another node of {tenant}</label>
      <span class="inline">
        <input id="path-to" class="mono" list="path-nodes" required maxLength={63} value={to} autocomplete="off" spellcheck={false} placeholder={others[0]} onInput={(event) => setTo(event.currentTarget.value)} />
        <button class="button">Show</button>
      </span>
      <datalist id="path-nodes">{others.slice(0, OFFERED).map((name) => <option key={name} value={name} />)}</datalist>
    </form>
  );
}
