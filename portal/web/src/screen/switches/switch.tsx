// One switch: why it is silent or differs, how it is managed, its health, its ports, and what would be changed on it.
import {useState} from "preact/hooks";
import {Refusal, read} from "../../api/client";
import {useSource} from "../../api/source";
import type {Switch, SwitchDiff, SwitchHealth} from "../../api/types";
import {may} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog, type Ask} from "../../part/dialog";
import {Mark} from "../../part/mark";
import {Facts, Why} from "../../part/panel";
import {Head, Numbers, Refused, Shown} from "../../part/screen";
import {forget, useThing} from "../../part/thing";
import {count, span, when} from "../../part/time";
import {SwitchActions} from "./actions";
import {Ports} from "./ports";
import {healthOf, oneSwitch, samplings} from "./sources";
import {SamplingMark} from "./switches";
import {addressed, reached, released, rotated, sampled} from "./things";

function Management({of, name, ask}: {of: Switch; name: string; ask: (ask: Ask) => void}) {
  const {management, observed} = of;
  const sampling = useSource(samplings()).value?.find((one) => one.switch === name);
  const [form, edit] = useThing();
  const fabric = sampling?.setting?.of === "fabric" ? `It samples as its fabric ${sampling.fabric} says. What you set here is this switch's own.` : undefined;
  return (
    <section class="panel" aria-label="Management">
      <header><h2>Management</h2></header>
      {management ? (
        <Facts
          rows={[
            ["Address", <span class="mono">{management.address}</span>],
            ["Fabric", `${management.fabric}, ${management.role}`],
            ["Family", observed?.family || management.family],
            ["It says", observed?.text],
            ["Changed by us", management.managed ? "yes" : "no, it is read only"],
            ["Read each", `${management.poll_s} s`],
            ["Last reading", observed?.read_at ? `${when(observed.read_at)}, ${observed.requests} requests` : "none yet"],
            ["Up for", observed?.uptime_ms ? span(observed.uptime_ms) : null],
            ["Parts", observed?.parts?.length ? observed.parts.map((one) => `${one.part} ${one.state}`).join(", ") : null],
            ["Samples", sampling && <span><SamplingMark sampling={sampling} />{sampling.setting?.rate ? <span class="quiet"> one of {count(sampling.setting.rate)}</span> : null}</span>],
          ]}
        />
      ) : <p class="quiet">Nobody speaks to it: its ports only give addresses.</p>}
      {may("switch_edit") && (
        <div class="actions">
          <button type="button" class="button" onClick={() => edit(reached(name), name)}>{management ? "Edit" : "Manage it"}</button>
          {sampling && <button type="button" class="button" onClick={() => edit(sampled("switch", fabric), name)}>Sampling</button>}
          <button type="button" class="button" onClick={() => edit(addressed(name), name)}>Addresses</button>
          {management && <button type="button" class="button" onClick={() => edit(rotated(name), name)}>New secrets</button>}
          {management && <button type="button" class="button danger" onClick={() => ask(forget(released(name), name))}>Release…</button>}
          <button type="button" class="button danger" onClick={() => ask(forget(addressed(name), name))}>Delete…</button>
        </div>
      )}
      {form}
    </section>
  );
}

function Health({name}: {name: string}) {
  const source = healthOf(name);
  const held = useSource(source);
  if (held.refusal?.status === 404) return null;
  return (
    <section class="panel flush" aria-label="Health">
      <header><h2>Health</h2>{held.value && <span class="quiet small">{held.value.counters_at ? `counters to ${when(held.value.counters_at)}` : "no counters yet"}</span>}</header>
      <Shown held={held} what="its health" again={() => void source.reload()}>
        {(value) => (
          <>
            <Worst health={value} />
            <Sensors health={value} />
            <Tree health={value} />
          </>
        )}
      </Shown>
    </section>
  );
}

function Worst({health}: {health: SwitchHealth}) {
  const worst = (health.ports ?? []).filter((one) => (one.in_errors ?? 0) + (one.out_errors ?? 0) + (one.in_discards ?? 0) + (one.out_discards ?? 0) > 0).slice(0, 8);
  if (worst.length === 0) return <p class="quiet small inset">No port counted errors or discards in the last hour.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Ports with errors">
      <table class="plain">
        <thead><tr><th>Port, last hour</th><th class="number">Errors in</th><th class="number">Errors out</th><th class="number">Discards in</th><th class="number">Discards out</th></tr></thead>
        <tbody>
          {worst.map((one) => (
            <tr key={one.port}>
              <td class="mono">{one.port}</td>
              {[one.in_errors, one.out_errors, one.in_discards, one.out_discards].map((value, at) => <td key={at} class="number">{value === null ? "–" : count(value)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Sensors({health}: {health: SwitchHealth}) {
  if (!health.sensors?.length) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Sensors">
      <table class="plain">
        <thead><tr><th>Sensor</th><th class="number">Value</th><th>Status</th></tr></thead>
        <tbody>
          {health.sensors.map((one) => (
            <tr key={one.name}>
              <td>{one.name}{one.port && <span class="quiet"> at <span class="mono">{one.port}</span></span>}</td>
              <td class="number">{one.value} {one.unit}</td>
              <td><Mark shape={one.status === "ok" ? "ok" : one.status === "unknown" ? "idle" : "fail"}>{one.status}</Mark></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Tree({health}: {health: SwitchHealth}) {
  const {stp} = health;
  if (!stp) return null;
  const held = stp.ports.filter((one) => one.state === "blocking" || one.state === "broken");
  return (
    <p class="small inset">
      {stp.running ? <>Spanning tree {stp.version} runs, {stp.is_root ? "and it is the root" : <>root <span class="mono">{stp.root}</span></>}.</> : "No spanning tree runs."}
      {held.length > 0 && <> Not forwarding: <span class="mono">{held.map((one) => one.port).join(", ")}</span>.</>}
      {health.lags_count > 0 && <> {health.lags_count} aggregates, {health.members_out} members carry nothing.</>}
    </p>
  );
}

/** The switch itself is asked, so it is asked for by a person. */
function Diff({name}: {name: string}) {
  const [asked, setAsked] = useState<"busy" | {diff: SwitchDiff} | {refusal: Refusal}>();
  const ask = () => {
    setAsked("busy");
    read("/api/v1/switches/{switch}/diff", {switch: name}).then((diff) => setAsked({diff})).catch((refusal: Refusal) => setAsked({refusal}));
  };
  const lines = (list: Record<string, unknown>[]) => list.map((one, at) => <li key={at} class="mono small">{Object.entries(one).filter(([, value]) => value !== null).map(([key, value]) => `${key} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`).join(", ")}</li>);
  return (
    <section class="panel" aria-label="Differences">
      <header><h2>Differences from the plan</h2></header>
      {asked === undefined && <p class="quiet">The switch is asked what it has, and it is compared with what it should have.</p>}
      {asked === "busy" && <p class="quiet" role="status">Asking the switch</p>}
      {typeof asked === "object" && "refusal" in asked && <Refused refusal={asked.refusal} />}
      {typeof asked === "object" && "diff" in asked && (
        <>
          {asked.diff.changes.length + asked.diff.drift.length === 0 ? <p><Mark shape="ok">It is as it should be{asked.diff.saved === false ? ", but not saved" : ""}.</Mark></p> : (
            <>
              <p><b>{asked.diff.changes.length}</b> changes are pending, <b>{asked.diff.drift.length}</b> were made by somebody else.</p>
              <ul class="stack">{lines(asked.diff.changes)}{lines(asked.diff.drift)}</ul>
            </>
          )}
        </>
      )}
      <div class="actions"><button type="button" class="button" disabled={asked === "busy"} onClick={ask}>Compare</button></div>
      <Command line={`haasctl switch diff ${quote(name)}`} />
    </section>
  );
}

export function SwitchScreen({name}: {name: string}) {
  const source = oneSwitch(name);
  const held = useSource(source);
  const health = useSource(healthOf(name)).value;
  const [dialog, ask] = useDialog();
  return (
    <div class="screen">
      <Head title={name} about={<a href="/switches">Switches</a>} held={held} filter="up1" />
      <Shown held={held} what="the switch" again={() => void source.reload()}>
        {(of) => (
          <>
            <Numbers
              rows={[
                {value: of.state ?? "unknown", label: health?.heard_at ? `answered ${when(health.heard_at)}` : "state", tone: of.state === "silent" ? "wait" : of.state === "reachable" ? "ok" : undefined},
                {value: of.observed ? `${of.observed.up} of ${of.observed.ports}` : "–", label: "ports up"},
                {value: health?.errors ?? "–", label: "errors in the last hour", tone: "fail"},
                {value: health?.discards ?? "–", label: "discards in the last hour", tone: "wait"},
                {value: health?.sensors_bad ?? "–", label: "bad sensors", tone: "wait"},
              ]}
            />
            <Why tone="wait" said={of.observed?.problem} />
            {of.alerts?.map((alert) => <Why key={alert.kind} tone={alert.severity === "critical" ? "fail" : "wait"} said={{message: alert.message}} />)}
            <SwitchActions name={name} ask={ask} />
            <div class="columns"><Management of={of} name={name} ask={ask} /><Diff name={name} /></div>
            {of.management && <Health name={name} />}
            <Ports name={name} ask={ask} />
            <p class="quiet small"><a href={`/topology?at=switch:${encodeURIComponent(name)}&show=switches`}>Show it in the topology</a></p>
            <Command line={`haasctl switch describe ${quote(name)}`} />
          </>
        )}
      </Shown>
      {dialog}
    </div>
  );
}
