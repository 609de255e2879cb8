// Beside each step: whether it could be, what speaks against it, and the nearest request that could be.
import type {ComponentChildren} from "preact";
import {useSource} from "../../api/source";
import type {Feasibility} from "../../api/types";
import {me} from "../../app/session";
import {Mark, type Shape} from "../../part/mark";
import {bytes, clock, count} from "../../part/time";
import {saidOf} from "../sheet/rows";
import {checked, lacks, verdictOf, type Verdict} from "./check";
import {changeAt, draft} from "./draft";
import {classes, limits} from "./sources";

export const SHAPES: Record<Verdict, Shape> = {unknown: "idle", ok: "ok", short: "wait", refused: "fail"};

function Offer({act, children}: {act: () => void; children: ComponentChildren}) {
  return <button type="button" class="button" onClick={act}>{children}</button>;
}

/** A group that falls short: fewer nodes, or another class that has enough. */
function Short({at, group}: {at: number; group: Feasibility["groups"][number]}) {
  const offered = useSource(classes(draft.value.tenant)).value?.items ?? [];
  const others = offered.filter((one) => one.class && one.class !== group.class && one.free >= group.wanted);
  return (
    <li class="stack tight">
      <p><Mark shape="wait"><b>{count(group.possible)} of {count(group.wanted)}</b></Mark> {group.class ? `nodes of class ${group.class}` : "nodes"} can be had now, for group {at + 1}.</p>
      {group.why && <p class="quiet">{group.why}</p>}
      <div class="actions">
        {group.possible > 0 && <Offer act={() => changeAt("groups", at, {count: group.possible})}>Use {count(group.possible)}</Offer>}
        {others.slice(0, 3).map((one) => <Offer key={one.class} act={() => changeAt("groups", at, {class: one.class})}>Use {one.class}: {count(one.free)} free</Offer>)}
      </div>
    </li>
  );
}

function VolumeShort({at, volume}: {at: number; volume: Feasibility["volumes"][number]}) {
  const largest = volume.largest_bytes ?? 0;
  const words = `${Math.floor(largest / 2 ** 30)}G`;
  return (
    <li class="stack tight">
      <p><Mark shape="fail"><b>No room</b></Mark> for volume <span class="mono">{volume.name}</span> of {bytes(volume.size_bytes)}.</p>
      {largest >= 2 ** 30 ? (
        <div class="actions"><Offer act={() => changeAt("volumes", at, {size: words})}>Use {bytes(Math.floor(largest / 2 ** 30) * 2 ** 30)}</Offer></div>
      ) : <p class="quiet">{volume.why}</p>}
    </li>
  );
}

function Answer({answer}: {answer: Feasibility}) {
  const short = answer.groups.map((group, at) => ({group, at})).filter(({group}) => group.possible < group.wanted);
  const volumes = answer.volumes.map((volume, at) => ({volume, at})).filter(({volume}) => !volume.possible);
  if (answer.feasible) {
    return <p><Mark shape="ok"><b>Possible now</b></Mark>, in {answer.racks} {answer.racks === 1 ? "rack" : "racks"} at {answer.leaves} leaf {answer.leaves === 1 ? "switch" : "switches"}.</p>;
  }
  return (
    <ul class="stack">
      {short.map((one) => <Short key={one.at} {...one} />)}
      {volumes.map((one) => <VolumeShort key={one.at} {...one} />)}
      {short.length > 0 && volumes.length === 0 && <li class="quiet">Asked for as it is, it waits until nodes are free.</li>}
    </ul>
  );
}

function Refusals() {
  const problem = checked.value.refusal?.problem;
  if (!problem) return null;
  const items = problem.errors?.filter((one) => one.pointer) ?? [];
  return (
    <div class="note fail" role="alert">
      <p><b>{problem.title}</b></p>
      {items.length === 0 && problem.detail && <p>{problem.detail}</p>}
      {items.slice(0, 6).map((one) => <p key={`${one.pointer}${one.message}`}><span class="mono">{one.pointer}</span> {saidOf(one)}</p>)}
      {problem.hint && <p class="quiet">{problem.hint}</p>}
    </div>
  );
}

const KINDS: Record<string, string> = {nodes: "nodes", networks: "networks", volume_bytes: "volumes", images: "images", packages: "packages", image_bytes: "image bytes"};

/** What the tenant may still have; kinds without a limit are left out. */
function Limits() {
  const tenant = me.value?.tenant ?? draft.value.tenant;
  const all = useSource(limits(tenant)).value ?? [];
  const rows = all.filter((one) => one.limit !== null && ["nodes", "networks", "volume_bytes"].includes(one.kind));
  if (rows.length === 0) return null;
  const text = (kind: string, value: number | null) => (kind.endsWith("_bytes") ? bytes(value) : count(value ?? 0));
  return (
    <dl class="facts">
      {rows.map((one) => (
        <>
          <dt>{KINDS[one.kind]}{one.class && ` of ${one.class}`}</dt>
          <dd>{text(one.kind, one.free)} left of {text(one.kind, one.limit)}</dd>
        </>
      ))}
    </dl>
  );
}

export function VerdictPanel() {
  const {answer, refusal, busy, at} = checked.value;
  const missing = lacks(draft.value);
  const verdict = verdictOf("review");
  return (
    <section class={`panel verdict ${verdict}`} aria-label="Could it be?" aria-live="polite">
      <header><h2>Could it be?</h2><span class="quiet small">{busy ? "asking" : at > 0 ? `at ${clock(at)}` : ""}</span></header>
      {missing && <p class="quiet">Say {missing}: then nodes, numbers and room are looked for.</p>}
      {!missing && !answer && !refusal && <p class="quiet">Asking for nodes, numbers and room.</p>}
      {answer && <Answer answer={answer} />}
      <Refusals />
      <Limits />
    </section>
  );
}
