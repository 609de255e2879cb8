// The panel of what is chosen: a link with its load over time, a switch with its links, a node with its NICs.
import {useState} from "preact/hooks";
import type {Refusal} from "../../api/client";
import {useSource} from "../../api/source";
import {loadNow, moving} from "../../api/stream";
import type {Topology, TopologyLink} from "../../api/types";
import {isSite} from "../../app/session";
import {Command, quote} from "../../part/command";
import {Mark} from "../../part/mark";
import {Facts, Panel, Why} from "../../part/panel";
import {Series, type Line} from "../../part/series";
import {bits} from "../../part/time";
import {loadOf} from "./layout";
import {ChosenNetwork} from "./networks";
import {ChosenPath, endsOf, PathFrom} from "./path";
import {linkSeries, portSeries} from "./sources";
import {cableOf, pathWord, percent, wholeLoad} from "./words";

const WINDOWS: [string, string][] = [["5m", "5 minutes"], ["1h", "Hour"], ["1d", "Day"]];

interface Told {
  /** Begins of its steps, seconds since 1970. */
  at: number[];
  step: number;
  lines: Line[];
  by: string;
}

/** By samples: what left each end. */
function useSampled(link: TopologyLink, window: string): {told?: Told; refusal?: Refusal} {
  const way = (from: "a" | "b") => linkSeries(`link:${pathWord(link[`${from}_switch`])}:${pathWord(link[`${from}_port`])}`, window);
  const ways = [useSource(way("a")), useSource(way("b"))];
  const first = ways[0]!.value ?? ways[1]!.value;
  if (!first) return {refusal: ways[0]!.refusal ?? ways[1]!.refusal};
  // Of two ways the steps may differ by a second: each value stands at its own.
  const at = [...new Set(ways.flatMap(({value}) => value?.at ?? []))].sort((a, b) => a - b);
  const lines = ways.flatMap(({value}, index): Line[] => {
    if (!value) return [];
    const place = new Map(value.at.map((second, step) => [second, step]));
    const on = (values: (number | null)[]) => at.map((second) => values[place.get(second) ?? -1] ?? null);
    return [{name: `from ${index ? link.b_switch : link.a_switch}`, values: on(value.bits_per_second), low: on(value.low), high: on(value.high)}];
  });
  return {told: {at, step: at.length > 1 ? Math.min(...at.slice(1).map((second, step) => second - at[step]!)) : first.step, lines, by: "samples, with their bound"}};
}

/** By counters of its first end. */
function useCounted(link: TopologyLink, window: string): {told?: Told; refusal?: Refusal} {
  const {value, refusal} = useSource(portSeries(link.a_switch, link.a_port, window));
  if (!value) return {refusal};
  const line = (name: string, {mean, low, high}: typeof value.out): Line => ({name, values: mean, low, high});
  return {told: {at: value.out.mean.map((_, index) => Date.parse(value.from) / 1000 + index * value.step_s), step: value.step_s, lines: [line(`from ${link.a_switch}`, value.out), line(`from ${link.b_switch}`, value.in)], by: `counters of ${link.a_switch}:${link.a_port}`}};
}

function Drawn({link, told, refusal}: {link: TopologyLink; told?: Told; refusal?: Refusal}) {
  if (!told) return <p class="quiet small" role="status">{refusal ? refusal.problem.title ?? "refused" : "Reading its load"}</p>;
  if (!told.lines.some((line) => line.values.some((value) => value !== null))) return <p class="quiet small">No {told.by.split(",")[0]} told its load in this time. {isSite.value && "haasctl sampling show says which switches send samples."}</p>;
  return (
    <>
      <Series label={`Load of ${cableOf(link)}`} at={told.at} lines={told.lines} format={bits} height={130} />
      <p class="quiet small">by {told.by}, in steps of {told.step} s</p>
    </>
  );
}

const Sampled = ({link, window}: {link: TopologyLink; window: string}) => <Drawn link={link} {...useSampled(link, window)} />;
const Counted = ({link, window}: {link: TopologyLink; window: string}) => <Drawn link={link} {...useCounted(link, window)} />;

/** The last minutes by the second come from samples; longer ones from counters, which only the site sees. */
function Over({link}: {link: TopologyLink}) {
  const [window, choose] = useState(isSite.value && link.forward?.by === "counters" ? "1h" : "5m");
  return (
    <div class="stack">
      <div class="segments" role="group" aria-label="How long">
        {WINDOWS.map(([word, title]) => <button key={word} type="button" aria-pressed={word === window} onClick={() => choose(word)}>{title}</button>)}
      </div>
      {isSite.value && window !== "5m" ? <Counted key={window} link={link} window={window} /> : <Sampled key={window} link={link} window={window} />}
    </div>
  );
}

function ChosenLink({link, topology}: {link: TopologyLink; topology: Topology}) {
  const carried = topology.trees.filter((tree) => tree.links.includes(link.id)).map((tree) => tree.tenant);
  const path = `link:${pathWord(link.a_switch)}:${pathWord(link.a_port)}`;
  const load = loadOf(link);
  return (
    <Panel title={<span class="mono">{link.a_switch} – {link.b_switch}</span>}>
      {!link.up && <Why tone="fail" said={{message: "an end has no link", hint: "look at the cable and at both ports"}} />}
      {link.state !== "confirmed" && <Why tone="wait" said={{message: link.state === "claimed" ? "only one end names the other" : "its ends name different links", hint: "LLDP has to be on at both"}} />}
      {load >= 90 && <Why tone="wait" said={{message: `${load.toFixed(1)} % of it is used`, hint: `haasctl drill ${quote(path)} says by whom`}} />}
      <Facts
        rows={[
          ["Ends", <span class="mono">{cableOf(link)}</span>],
          ["Capacity", link.speed_bps ? `${bits(link.speed_bps)}${link.members > 1 ? `, ${link.members} cables` : ""}` : "not told"],
          [`From ${link.a_switch}`, wholeLoad(link.forward)],
          [`From ${link.b_switch}`, wholeLoad(link.back)],
          ...(["a", "b"] as const).map((end): [string, string | null] => {
            const now = loadNow(moving.value, link[`${end}_switch`], link[`${end}_port`]);
            return [`Last 5 s from ${link[`${end}_switch`]}`, now === undefined ? null : bits(now)];
          }),
          ["Carries", carried.length ? carried.join(", ") : "no tenant's network at both ends"],
          ["Fabric", link.fabric],
        ]}
      />
      <Over key={link.id} link={link} />
      <a class="button" href={`/drill?path=${encodeURIComponent(path)}`}>By whom: open the drill</a>
      <Command line={`haasctl drill ${quote(path)}`} />
    </Panel>
  );
}

function ChosenSwitch({name, topology}: {name: string; topology: Topology}) {
  const one = topology.switches.find((each) => each.name === name);
  const links = topology.links.filter((link) => link.a_switch === name || link.b_switch === name).sort((a, b) => loadOf(b) - loadOf(a));
  if (!one) return <Panel title={<span class="mono">{name}</span>}><p class="quiet">It is not in this picture.</p></Panel>;
  return (
    <Panel title={<span class="mono">{name}</span>}>
      {one.state === "silent" && <Why tone="wait" said={{message: "it does not answer", detail: "what is drawn is its last reading", hint: isSite.value ? `haasctl switch show ${quote(name)} says why` : ""}} />}
      <Facts
        rows={[
          ["State", <Mark shape={one.state === "reachable" ? "ok" : one.state === "silent" ? "wait" : "idle"}>{one.state}</Mark>],
          ["Role", `${one.role}, tier ${one.tier}`],
          ["Rack", one.rack],
          ["Nodes", one.nodes],
          ["Fabric", one.fabric],
        ]}
      />
      {links.length > 0 && (
        <table class="plain">
          <thead><tr><th>Link</th><th class="number">Sends</th><th class="number">Gets</th></tr></thead>
          <tbody>
            {links.map((link) => {
              const near = link.a_switch === name;
              return (
                <tr key={link.id}>
                  <td class="mono"><a href={`?show=links&at=link:${link.id}`}>{near ? `${link.a_port} – ${link.b_switch}` : `${link.b_port} – ${link.a_switch}`}</a></td>
                  <td class="number">{percent(near ? link.forward : link.back)}</td>
                  <td class="number">{percent(near ? link.back : link.forward)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      {isSite.value && <a class="button" href={`/switches/${encodeURIComponent(name)}`}>Open the switch</a>}
      <Command line={isSite.value ? `haasctl switch describe ${quote(name)}` : "haasctl switch topology"} />
    </Panel>
  );
}

function ChosenNode({name, topology}: {name: string; topology: Topology}) {
  const nics = topology.nodes.filter((one) => one.node === name);
  return (
    <Panel title={<a class="mono" href={`/nodes/${encodeURIComponent(name)}`}>{name}</a>}>
      <Facts rows={[["Tenant", nics[0]?.tenant]]} />
      <table class="plain">
        <thead><tr><th>NIC</th><th>Port</th><th class="number">Sends</th><th class="number">Gets</th></tr></thead>
        <tbody>
          {nics.map((one) => (
            <tr key={one.nic}>
              <td class="mono">{one.nic}</td>
              <td><Mark shape={!one.up ? "fail" : one.found ? "ok" : "idle"}><span class="mono">{one.switch}:{one.port}</span></Mark>{!one.found && <span class="quiet small"> planned, not found</span>}</td>
              <td class="number">{bits(one.forward_bps)}</td>
              <td class="number">{bits(one.back_bps)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {nics[0]?.tenant && <PathFrom key={name} node={name} tenant={nics[0].tenant} topology={topology} />}
      <Command line={isSite.value ? `haasctl nic locate ${quote(name)}` : `haasctl node show ${quote(name)}`} />
    </Panel>
  );
}

export function ChosenPanel({at, topology}: {at: string; topology: Topology}) {
  const colon = at.indexOf(":");
  const [kind, name] = [at.slice(0, colon), at.slice(colon + 1)];
  const ends = endsOf(at, topology);
  if (ends) return <ChosenPath key={at} ends={ends} />;
  if (kind === "network") return <ChosenNetwork key={at} id={name} />;
  if (kind === "switch") return <ChosenSwitch name={name} topology={topology} />;
  if (kind === "node") return <ChosenNode name={name} topology={topology} />;
  const link = topology.links.find((one) => String(one.id) === name);
  return link ? <ChosenLink link={link} topology={topology} /> : <Panel title="Gone"><p class="quiet">This link is not there any more.</p></Panel>;
}
