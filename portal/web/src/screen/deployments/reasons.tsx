// Why some of them do not go on, the same reason once: how many, since when, where.
import type {Deployment} from "../../api/types";
import {query, setWords} from "../../app/route";
import {Mark, waitsOutside} from "../../part/mark";
import {count, since} from "../../part/time";

/** Reasons that are shown; the line below says how many more there are. */
const SHOWN = 5;

/** What it waits for, or failed with, without the node's name; undefined: it goes on. */
export function reasonKey(one: Deployment): string | undefined {
  const failed = one.state === "failed";
  if (!failed && !waitsOutside(one)) return undefined;
  const said = failed ? one.problem : one.waiting;
  return `${failed ? one.step || "failed" : one.waiting?.kind}: ${(said?.message ?? "").replaceAll(one.node, "…")}`;
}

interface Reason {
  key: string;
  list: Deployment[];
  from: string | null;
}

function reasonsOf(list: Deployment[]): Reason[] {
  const by = new Map<string, Reason>();
  for (const one of list) {
    const key = reasonKey(one);
    if (key === undefined) continue;
    const from = one.state === "failed" ? one.ended_at : one.waiting?.since ?? null;
    const there = by.get(key);
    if (!there) by.set(key, {key, list: [one], from});
    else {
      there.list.push(one);
      if (from !== null && (there.from === null || from < there.from)) there.from = from;
    }
  }
  return [...by.values()].sort((a, b) => b.list.length - a.list.length);
}

export function Reasons({list}: {list: Deployment[]}) {
  const reasons = reasonsOf(list);
  if (reasons.length === 0) return null;
  const chosen = query.value.get("why");
  return (
    <section class="panel flush" aria-label="Why some do not go on">
      <ul class="lines">
        {reasons.slice(0, SHOWN).map(({key, list: of, from}) => (
          <li key={key} class={chosen === key ? "chosen" : ""}>
            <Mark shape={of[0]?.state === "failed" ? "fail" : "wait"}>{count(of.length)}</Mark>
            <span class="grow"><button type="button" class="link" aria-pressed={chosen === key} onClick={() => setWords({why: chosen === key ? undefined : key, at: undefined})}>{key}</button></span>
            <span class="quiet small nowrap">{from && `for ${since(from)}`}</span>
          </li>
        ))}
        {reasons.length > SHOWN && <li class="quiet small">and {count(reasons.length - SHOWN)} more reasons</li>}
      </ul>
    </section>
  );
}
