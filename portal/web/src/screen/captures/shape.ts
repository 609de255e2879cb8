// Which shape and which words a capture's state has.
import type {Capture} from "../../api/types";
import type {Shape} from "../../part/mark";

export function shapeOfCapture(one: Capture): Shape {
  if (one.state === "waiting") return "wait";
  if (one.state !== "ended") return "work";
  return one.because === "failed" || one.because === "refused" || wasRefused(one) ? "fail" : one.packets > 0 ? "ok" : "idle";
}

const BECAUSE: Record<NonNullable<Capture["because"]>, string> = {
  stopped: "it was stopped", deadline: "its time was over", full: "it was full", failed: "it failed", lapsed: "consent ended, or the node changed hands",
  refused: "the collector refused it", expired: "nobody consented in time",
};

/** Stopped before anybody had consented: that was a no. */
export const wasRefused = (one: Capture) => one.because === "stopped" && !one.consent;

export const becauseText = (one: Capture): string | undefined => (wasRefused(one) ? "consent was refused" : one.because ? BECAUSE[one.because] : undefined);

/** Whose turn it is while a capture waits. */
export function waitsFor(one: Capture): string | undefined {
  if (one.state === "waiting") return `consent of ${one.tenant ?? "its tenant"}'s admin, or of an operator other than ${one.requester.replace(/^account /, "")}`;
  if (one.state === "approved") return "the collector of packets";
  return one.state === "listening" ? "the switch's mirror session" : undefined;
}
