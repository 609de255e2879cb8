// The wall: a plan's steps as lanes, each node a cell in the lane of its step. A cell fills with the step's share. Only cells whose row is another one are
// drawn anew: hundreds move several times a second.
import {Component} from "preact";
import type {Deployment, Plan} from "../../api/types";
import {query, setWords} from "../../app/route";
import {Mark, shapeOf, type Shape} from "../../part/mark";
import {count, span} from "../../part/time";
import {CANCEL, PLANS} from "./plans";

/** Cells of a plan above which they are smaller. */
const DENSE = 200;

/** PLAN:LANE, as the address has it. */
export function laneOf(one: Deployment): string {
  if (one.state === "failed" || one.state === "done") return `${one.plan}:${one.state}`;
  return `${one.plan}:${one.ended_at === null && (PLANS[one.plan].includes(one.step) || CANCEL.includes(one.step)) ? one.step : "queued"}`;
}

interface CellProps {
  one: Deployment;
  chosen: boolean;
}

class Cell extends Component<CellProps> {
  shouldComponentUpdate(next: CellProps) {
    return next.one !== this.props.one || next.chosen !== this.props.chosen;
  }

  render({one, chosen}: CellProps) {
    const shape = shapeOf.deployment(one);
    const said = shape === "wait" ? "waits" : one.state === "waiting" ? "under way" : one.state;
    const late = shape === "work" && !!one.eta?.late;
    return (
      <button
        type="button" class={`cell ${shape} ${late ? "late" : ""}`} aria-pressed={chosen} title={`${one.node}: ${one.step || "queued"}, ${said}${one.percent === null ? "" : ` ${one.percent} %`}${late ? ", later than ever" : ""}`}
        aria-label={`${one.node} ${one.step || "queued"} ${said}`} onClick={() => setWords({at: chosen ? undefined : String(one.id)})}
      >
        {shape === "work" && <i style={{width: `${one.percent ?? 8}%`}} />}
        {shape === "fail" && "!"}
      </button>
    );
  }
}

function middle(values: number[]): number | undefined {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** What is usual in a lane, and how many are not so. */
function said(list: Deployment[]): string {
  const usual = middle(list.flatMap((one) => one.eta?.usual_s ?? []));
  const late = list.filter((one) => one.eta?.late).length;
  return [usual !== undefined && `usually ${span(usual * 1000)}`, late > 0 && `${late} late`].filter(Boolean).join(", ");
}

function Lane({lane, title, list, end}: {lane: string; title: string; list: Deployment[]; end?: "ok" | "fail"}) {
  const chosen = query.value.get("lane") === lane;
  const at = query.value.get("at");
  return (
    <div class={`lane ${end ?? ""} ${list.length ? "busy" : ""} ${chosen ? "chosen" : ""}`}>
      <div class="of">
        {list.length ? <button type="button" class="link" aria-pressed={chosen} title={`Only ${title}`} onClick={() => setWords({lane: chosen ? undefined : lane, at: undefined})}>{title}</button> : <span class="quiet">{title}</span>}
        <b>{list.length ? count(list.length) : ""}</b>
      </div>
      <div class="cells">{list.map((one) => <Cell key={one.id} one={one} chosen={at === String(one.id)} />)}</div>
      <span class="quiet small">{end ? "" : said(list)}</span>
    </div>
  );
}

function PlanWall({plan, list}: {plan: Plan; list: Deployment[]}) {
  const by = new Map<string, Deployment[]>();
  for (const one of list) {
    const lane = laneOf(one);
    const there = by.get(lane);
    if (there) there.push(one);
    else by.set(lane, [one]);
  }
  const steps = [...PLANS[plan], ...CANCEL.filter((step) => !PLANS[plan].includes(step) && by.has(`${plan}:${step}`))];
  const lane = (name: string, end?: "ok" | "fail") => <Lane key={name} lane={`${plan}:${name}`} title={name} list={by.get(`${plan}:${name}`) ?? []} {...(end ? {end} : {})} />;
  return (
    <section class="wall" aria-label={`Wall of ${plan}`}>
      <header><h2>{plan}</h2><span class="quiet">{count(list.filter((one) => one.ended_at === null).length)} under way</span></header>
      <div class={`lanes ${list.length > DENSE ? "dense" : ""}`} role="group" aria-label={`Steps of ${plan}`}>
        {by.has(`${plan}:queued`) && lane("queued")}
        {steps.map((step) => lane(step))}
        {by.has(`${plan}:failed`) && lane("failed", "fail")}
        {by.has(`${plan}:done`) && lane("done", "ok")}
      </div>
    </section>
  );
}

const LEGEND: [Shape, string][] = [
  ["work", "step under way, its share"], ["ok", "done"], ["wait", "waits for something outside"], ["fail", "failed: a person decides"],
];

export function Wall({list}: {list: Deployment[]}) {
  const plans = (Object.keys(PLANS) as Plan[]).filter((plan) => list.some((one) => one.plan === plan));
  return (
    <>
      {plans.map((plan) => <PlanWall key={plan} plan={plan} list={list.filter((one) => one.plan === plan)} />)}
      <div class="legend">{LEGEND.map(([shape, text]) => <Mark key={shape} shape={shape}>{text}</Mark>)}</div>
    </>
  );
}
