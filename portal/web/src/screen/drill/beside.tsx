// Beside a level: why it is looked at (alerts, suspects), what it is (a flow), its captures, and what to do next.
import {useSource} from "../../api/source";
import type {AlertDetail, Capture, Drill} from "../../api/types";
import {workedOn, workOn} from "../../app/case";
import {isSite, may} from "../../app/session";
import type {Ask} from "../../part/dialog";
import {Mark} from "../../part/mark";
import {Facts, Why} from "../../part/panel";
import {clock} from "../../part/time";
import {begin, capturesHref} from "../captures/actions";
import {shapeOfCapture} from "../captures/shape";
import {captures} from "../captures/sources";
import {complain, openCase} from "../cases/actions";
import {pathHref} from "../topology/words";
import {Suspects} from "./suspects";
import {flowOf, named, protocolName, type Spot} from "./url";

function AlertHere({alert}: {alert: AlertDetail}) {
  return (
    <section class="panel" aria-label={`Alert ${alert.id}`}>
      <header><h2>Alert since {clock(alert.raised_at)}</h2><a href={`/alerts?at=${alert.id}`}>{alert.severity}</a></header>
      <Why tone={alert.severity === "critical" ? "fail" : "wait"} said={{message: alert.message}} />
      <Suspects alert={alert} />
    </section>
  );
}

export function FlowFacts({path}: {path: string}) {
  const flow = flowOf(path);
  if (!flow) return null;
  return (
    <section class="panel" aria-label="This flow">
      <header><h2>This flow</h2></header>
      <Facts
        rows={[
          ["From", <span class="mono">{flow.source || "no IP address"}{flow.source_port ? ` port ${flow.source_port}` : ""}</span>],
          ["To", <span class="mono">{flow.target || "no IP address"}{flow.target_port ? ` port ${flow.target_port}` : ""}</span>],
          ["Protocol", flow.source ? protocolName(flow.protocol) : null],
          ["EtherType", <span class="mono">0x{flow.ethertype.toString(16).padStart(4, "0")}</span>],
          ["VLAN", named(path, "vlan")[0]],
          ["Direction", `${flow.forward ? "from" : "to"} ${named(path, "pair")[0]}`],
        ]}
      />
    </section>
  );
}

const sameEnds = (one: Capture, a: string, b: string) => (one.node === a && (one.peer === b || !one.peer)) || (one.node === b && (one.peer === a || !one.peer));

/** Where the traffic of two nodes goes through the fabric. */
function Way({path}: {path: string}) {
  const [tenant = ""] = named(path, "tenant");
  const [a = "", b = ""] = named(path, "pair");
  if (!tenant || !a || !b) return null;
  return <a class="button" href={pathHref({tenant, a, b})}>Path of {a} and {b}</a>;
}

export function Packets({path, ask}: {path: string; ask: (ask: Ask) => void}) {
  const [a = "", b = ""] = named(path, "pair");
  const list = (useSource(captures(true)).value ?? []).filter((one) => sameEnds(one, a, b)).slice(0, 5);
  return (
    <section class="panel" aria-label="Packets">
      <header><h2>Packets</h2></header>
      {list.length === 0 ? <p class="quiet">No capture of these two is kept.</p> : (
        <ul class="tidy">
          {list.map((one) => <li key={one.id}><Mark shape={shapeOfCapture(one)}><a href={capturesHref(one.id)}>capture {one.id}</a></Mark> <span class="quiet">{one.state}, {one.packets} packets</span></li>)}
        </ul>
      )}
      {may("capture") && <div class="actions"><button type="button" class="button" onClick={() => ask(begin({path}, [`${a} ~ ${b}`]))}>Capture…</button></div>}
    </section>
  );
}

function CaseHere({level, alerts, ask}: {level: Drill; alerts: AlertDetail[]; ask: (ask: Ask) => void}) {
  if (!isSite.value && may("complaint")) {
    return (
      <section class="panel" aria-label="A complaint">
        <p class="quiet">Slower than it should be? The operators are told, and a clock runs.</p>
        <div class="actions"><button type="button" class="button" onClick={() => ask(complain())}>Complain…</button></div>
      </section>
    );
  }
  if (!may("case")) return null;
  const id = workedOn.value;
  const [tenant] = named(level.path, "tenant");
  if (id) {
    return (
      <section class="panel" aria-label="The case">
        <p>What you look at is written into <a href={`/cases/${id}`}>case {id}</a>.</p>
        <div class="actions"><a class="button" href={`/cases/${id}`}>Open it</a><button type="button" class="button" onClick={() => workOn(undefined)}>Leave it</button></div>
      </section>
    );
  }
  return (
    <section class="panel" aria-label="A complaint">
      <p class="quiet">Somebody complains? A case has a clock, and keeps what you look at.</p>
      <div class="actions"><button type="button" class="button" onClick={() => ask(openCase({tenant, alert: alerts[0]?.id, stay: true}))}>Open case…</button></div>
    </section>
  );
}

export function Beside({level, spot, alerts, ask}: {level: Drill; spot: Spot; alerts: AlertDetail[]; ask: (ask: Ask) => void}) {
  return (
    <div class="stack">
      {level.level === "pair" && named(spot.path, "tenant").length > 0 && <Packets path={spot.path} ask={ask} />}
      <Way path={spot.path} />
      {isSite.value && alerts.map((alert) => <AlertHere key={alert.id} alert={alert} />)}
      <CaseHere level={level} alerts={alerts} ask={ask} />
    </div>
  );
}
