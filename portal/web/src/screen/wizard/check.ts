// Whether the draft could be met, asked of the API a moment after each change: a dry run of the request as it stands.
import {effect, signal} from "@preact/signals";
import {useEffect} from "preact/hooks";
import {Refusal, write} from "../../api/client";
import type {Feasibility, ProblemItem} from "../../api/types";
import {isSite} from "../../app/session";
import {bodyOf, draft, type Draft} from "./draft";

export type Step = "nodes" | "networks" | "volumes" | "software" | "places" | "review";

export interface Checked {
  /** undefined: nothing could be asked yet. */
  answer?: Feasibility;
  refusal?: Refusal;
  /** The draft that was asked about; another one is being asked. */
  of?: Draft;
  busy: boolean;
  at: number;
}

export const checked = signal<Checked>({busy: false, at: 0});

const SOON_MS = 400;
const AGAIN_MS = 15000;

/** What has to be there before a dry run says more than that it is missing. */
export function lacks(one: Draft): string | undefined {
  if (isSite.value && !one.tenant) return "the tenant";
  if (one.groups.some((group) => !group.image)) return "an image for each group";
  if (one.groups.some((group) => !(group.count >= 1))) return "how many nodes";
  return undefined;
}

/** Checked under a name that nobody has while there is none. */
const nameOf = (one: Draft) => one.name || `draft-${Math.random().toString(36).slice(2, 10)}`;

let asked = 0;

async function ask() {
  const one = draft.peek();
  const number = ++asked;
  if (lacks(one)) {
    checked.value = {busy: false, at: 0};
    return;
  }
  checked.value = {...checked.peek(), busy: true};
  try {
    const answer = (await write("POST /api/v1/pdcis", {query: {dry_run: true}, body: bodyOf(one, nameOf(one))})) as Feasibility;
    if (number === asked) checked.value = {answer, of: one, busy: false, at: Date.now()};
  } catch (error) {
    if (number === asked) checked.value = {refusal: error as Refusal, of: one, busy: false, at: Date.now()};
  }
}

/** Asks while the wizard is open: after each change, and now and then, since nodes come and go. */
export function useCheck() {
  useEffect(() => {
    let timer = 0;
    const later = (ms: number) => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        if (!document.hidden) void ask();
        later(AGAIN_MS);
      }, ms);
    };
    const stop = effect(() => {
      void draft.value;
      later(SOON_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
      asked++;
      checked.value = {busy: false, at: 0};
    };
  }, []);
}

/** Items about the members under this pointer. */
export function errorsAt(pointer: string): ProblemItem[] {
  return (checked.value.refusal?.problem.errors ?? []).filter((one) => one.pointer === pointer || one.pointer?.startsWith(`${pointer}/`));
}

function stepOf(pointer: string): Step {
  if (/^\/groups\/\d+\/(nics|bonds)/.test(pointer) || pointer.startsWith("/networks")) return "networks";
  if (pointer.startsWith("/volumes")) return "volumes";
  if (pointer.startsWith("/params")) return "software";
  if (pointer.startsWith("/sheet")) return "places";
  return "nodes";
}

export type Verdict = "unknown" | "ok" | "short" | "refused";

/** How it stands with one step. What has no pointer is of no step. */
export function verdictOf(step: Step): Verdict {
  const {answer, refusal} = checked.value;
  if (refusal?.problem.errors?.some((one) => one.pointer && stepOf(one.pointer) === step)) return "refused";
  if (step === "review") return refusal ? "refused" : !answer ? "unknown" : answer.feasible ? "ok" : "short";
  if (!answer) return "unknown";
  if (step === "nodes" && answer.groups.some((group) => group.possible < group.wanted)) return "short";
  if (step === "volumes" && answer.volumes.some((volume) => !volume.possible)) return "refused";
  return "ok";
}
