// State is a shape, a word and a colour, in this order. The tables say which shape a word of the API has.
import type {Deployment, DeploymentState, NodeState, PdciState, Severity} from "../api/types";

export type Shape = "idle" | "work" | "ok" | "wait" | "fail";

const PATHS: Record<Shape, preact.JSX.Element> = {
  idle: <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.5" />,
  work: <path d="M6 2a4 4 0 1 1-4 4" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" />,
  ok: <path d="M2 6.5 5 9.5 10 2.5" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" />,
  wait: <path d="M6 1.8 10.8 10H1.2z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" />,
  fail: <path d="M2.5 2.5 9.5 9.5M9.5 2.5 2.5 9.5" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" />,
};

export function Mark({shape, children}: {shape: Shape; children: preact.ComponentChildren}) {
  return (
    <span class={`mark ${shape === "idle" ? "quiet" : shape}`}>
      <svg viewBox="0 0 12 12" aria-hidden="true">{PATHS[shape]}</svg>
      {children}
    </span>
  );
}

const NODE: Record<NodeState, Shape> = {
  discovered: "idle", free: "idle", reserved: "work", active: "ok", scrubbing: "work", broken: "fail", held: "fail",
};
const PDCI: Record<PdciState, Shape> = {
  requested: "work", infeasible: "wait", building: "work", ready: "ok", failed: "fail", releasing: "work", released: "idle",
};
const DEPLOYMENT: Record<DeploymentState, Shape> = {
  queued: "idle", waiting: "work", cancelling: "work", done: "ok", failed: "fail", cancelled: "idle", cleared: "idle",
};
const SEVERITY: Record<Severity, Shape> = {info: "idle", warning: "wait", critical: "fail"};

/** Something outside of its step has to happen: portald says what. */
export function waitsOutside(one: Deployment): boolean {
  return one.ended_at === null && one.state !== "failed" && !!one.waiting && one.waiting.kind !== "work";
}

export const shapeOf = {
  node: (state: NodeState): Shape => NODE[state] ?? "idle",
  pdci: (state: PdciState): Shape => PDCI[state] ?? "idle",
  severity: (severity: Severity): Shape => SEVERITY[severity] ?? "idle",
  deployment: (one: Deployment): Shape => (waitsOutside(one) ? "wait" : DEPLOYMENT[one.state] ?? "idle"),
};
