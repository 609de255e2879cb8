// Somebody else changed what is edited here (412): what it was, what it is now, what was typed, member by member; and the two ways on.
import {useEffect, useRef} from "preact/hooks";
import type {Refusal} from "../api/client";

export type Members = Record<string, string | number | boolean | null | undefined>;

const text = (value: Members[string]) => (value === null || value === undefined || value === "" ? "empty" : String(value));

/** What portald says it is now, of a refusal; undefined: it was refused for another reason. */
export function currentOf<T>(refusal: Refusal | undefined): T | undefined {
  if (refusal?.status !== 412) return undefined;
  return (refusal.problem as {current?: T}).current;
}

interface Props {
  what: string;
  names: Record<string, string>;
  before: Members;
  now: Members;
  mine: Members;
  /** Takes what is now, and keeps what was typed where only this side changed it. */
  merge: () => void;
  take: () => void;
}

export function Changed({what, names, before, now, mine, merge, take}: Props) {
  const rows = Object.keys(names).filter((name) => text(before[name]) !== text(now[name]) || text(before[name]) !== text(mine[name]));
  // In a long dialog it stands below what is in sight.
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.scrollIntoView({block: "nearest"}), []);
  return (
    <div class="note wait" role="alert" ref={box}>
      <p><b>{what} was changed meanwhile</b>; nothing of yours was written.</p>
      <table class="changed">
        <thead><tr><th scope="col">What</th><th scope="col">Was</th><th scope="col">Is now</th><th scope="col">Yours</th></tr></thead>
        <tbody>
          {rows.map((name) => (
            <tr key={name}>
              <th scope="row">{names[name]}</th>
              <td>{text(before[name])}</td>
              <td class={text(now[name]) !== text(before[name]) ? "strong" : ""}>{text(now[name])}</td>
              <td class={text(mine[name]) !== text(before[name]) ? "strong" : ""}>{text(mine[name])}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="bar"><button type="button" class="button" onClick={merge}>Keep mine where I changed it</button><button type="button" class="button bare" onClick={take}>Take what is now</button></div>
    </div>
  );
}
