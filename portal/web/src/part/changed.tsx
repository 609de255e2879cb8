// Somebody else changed what is edited here (412): who, what it was, what it is now, what was typed, member by member; and the two ways on.
import {useEffect, useRef, useState} from "preact/hooks";
import {read, type Refusal} from "../api/client";
import {when} from "./time";

export type Members = Record<string, string | number | boolean | null | undefined>;

/** The events that such an edit writes: the newest says who it was. */
export interface Written {
  /** Without it any of that thing. */
  kind?: string;
  subject_kind: string;
  /** Without it the newest of that kind. */
  subject?: string;
  tenant?: string | undefined;
}

/** What an action writes over something that was read, in words. */
export interface Edits {
  what: string;
  names: Record<string, string>;
  before: Members;
  mine: () => Members;
  /** Members and version of what portald says it is now. */
  now: (current: unknown) => {members: Members; version: number};
  by: Written;
  /** Fields that were not touched take what is now. */
  merge?: (current: unknown) => void;
}

/** Of a thing of type T that was read: its members, and which of them this action would change. */
export function editsOf<T extends {version: number}>(
  what: string, names: Record<string, string>, one: T, of: (one: T) => Members, mine: () => Members, by: Written, merge?: (current: T) => void,
): Edits {
  return {
    what, names, before: of(one), mine: () => ({...of(one), ...mine()}), by,
    now: (current) => ({members: of(current as T), version: (current as T).version}),
    ...(merge ? {merge: (current) => merge(current as T)} : {}),
  };
}

/** A text longer than this is cut: the whole of it is its title. */
const LONG = 120;

const text = (value: Members[string]) => (value === null || value === undefined || value === "" ? "empty" : value === true ? "yes" : value === false ? "no" : String(value));

/** What portald says it is now, of a refusal; undefined: it was refused for another reason. */
export function currentOf<T>(refusal: Refusal | undefined): T | undefined {
  if (refusal?.status !== 412) return undefined;
  return (refusal.problem as {current?: T}).current;
}

/** Who wrote it last, and when: known where the events of it may be read. */
function useAuthor(by: Written) {
  const [author, setAuthor] = useState("");
  useEffect(() => {
    read("/api/v1/events", {}, {...by, limit: 1})
      .then(({items: [event]}) => event && setAuthor(` by ${event.actor.replace(/^account /, "")} at ${when(event.at)}`))
      .catch(() => undefined); // the difference is told without it
  }, []);
  return author;
}

function Cell({value, differs}: {value: Members[string]; differs?: boolean}) {
  const whole = text(value);
  return <td class={differs ? "strong" : ""} title={whole.length > LONG ? whole : undefined}>{whole.length > LONG ? `${whole.slice(0, LONG)}…` : whole}</td>;
}

interface Props {
  what: string;
  names: Record<string, string>;
  before: Members;
  now: Members;
  mine: Members;
  by: Written;
  /** Takes what is now, and keeps what was typed where only this side changed it. */
  merge: () => void;
  take: () => void;
}

export function Changed({what, names, before, now, mine, by, merge, take}: Props) {
  const rows = Object.keys(names).filter((name) => text(before[name]) !== text(now[name]) || text(before[name]) !== text(mine[name]));
  const author = useAuthor(by);
  // In a long dialog it stands below what is in sight.
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.scrollIntoView({block: "nearest"}), [author]);
  return (
    <div class="note wait" role="alert" ref={box}>
      <p><b>{what} was changed meanwhile</b>{author}; nothing of yours was written.</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="What differs">
        <table class="changed">
          <thead><tr><th scope="col">What</th><th scope="col">Was</th><th scope="col">Is now</th><th scope="col">Yours</th></tr></thead>
          <tbody>
            {rows.map((name) => (
              <tr key={name}>
                <th scope="row">{names[name]}</th>
                <Cell value={before[name]} />
                <Cell value={now[name]} differs={text(now[name]) !== text(before[name])} />
                <Cell value={mine[name]} differs={text(mine[name]) !== text(before[name])} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="bar"><button type="button" class="button" onClick={merge}>Keep mine where I changed it</button><button type="button" class="button bare" onClick={take}>Take what is now</button></div>
    </div>
  );
}
