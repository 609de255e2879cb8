// What every screen has: its head with the live mark and the filter, its key numbers, and what it shows while there is nothing to show.
import type {ComponentChildren} from "preact";
import {useEffect} from "preact/hooks";
import type {Refusal} from "../api/client";
import type {Held} from "../api/source";
import {live} from "../api/stream";
import {query, setWords} from "../app/route";
import {clock, count} from "./time";

export function Live({held, until}: {held: Held<unknown>; until?: string | undefined}) {
  if (held.refusal && held.at) return <span class="live stale" role="status"><i />stale since {clock(held.at)}</span>;
  if (!held.at) return held.refusal ? <span class="live stale" role="status"><i />not read</span> : <span class="live" role="status">loading</span>;
  if (until) return <span class="live" role="status">{until}</span>;
  if (!live.value.on) return <span class="live" role="status">read {clock(held.at)}</span>;
  return <span class="live" role="status"><i />live</span>;
}

export interface HeadProps {
  title: string;
  about?: ComponentChildren;
  held: Held<unknown>;
  /** It shows a time that is over: "to 10:47:30". */
  until?: string | undefined;
  /** An example of a filter; without one the screen has none. */
  filter?: string;
  children?: ComponentChildren;
}

export function Head({title, about, held, until, filter, children}: HeadProps) {
  useEffect(() => {
    document.title = `${title} - HaaS`;
  }, [title]);
  return (
    <header class="head">
      <div class="title">
        <h1>{title}</h1>
        {about && <span class="about">{about}</span>}
      </div>
      <div class="tools">
        <Live held={held} until={until} />
        {children}
        {filter && (
          <input
            id="filter" class="filter" type="search" aria-label="Filter" placeholder={`Filter: ${filter}`} value={query.value.get("q") ?? ""}
            onInput={(event) => setWords({q: event.currentTarget.value, at: undefined})}
          />
        )}
        {filter && <kbd aria-hidden="true">/</kbd>}
      </div>
    </header>
  );
}

export interface KeyNumber {
  value: number | string;
  label: string;
  tone?: "work" | "ok" | "wait" | "fail";
  /** Where those are that it counts. */
  href?: string;
}

/** The three to five numbers that one came for. Zero has no colour. */
export function Numbers({rows}: {rows: KeyNumber[]}) {
  return (
    <ul class="numbers">
      {rows.map((row) => {
        const body = (
          <>
            <b class={row.value === 0 ? "quiet" : row.tone}>{typeof row.value === "number" ? count(row.value) : row.value}</b>
            <span>{row.label}</span>
          </>
        );
        return <li key={row.label}>{row.href ? <a href={row.href}>{body}</a> : body}</li>;
      })}
    </ul>
  );
}

export function Empty({title, children}: {title: string; children?: ComponentChildren}) {
  return <div class="state"><b>{title}</b>{children}</div>;
}

export function Refused({refusal, again}: {refusal: Refusal; again?: () => void}) {
  const {title, detail, hint, request_id} = refusal.problem;
  return (
    <div class="state" role="alert">
      <b>{title ?? "refused"}</b>
      {detail && <p>{detail}</p>}
      {hint && <p>{hint}</p>}
      {again && <button type="button" class="button" onClick={again}>Try again</button>}
      {request_id && <p class="small mono">request {request_id}</p>}
    </div>
  );
}

/** Loading, refused, or what there is: with a value it is always shown, dimmed while it is stale. */
export function Shown<T>({held, what, again, children}: {held: Held<T>; what: string; again: () => void; children: (value: T) => ComponentChildren}) {
  if (held.value !== undefined) return <div class={`stack ${held.refusal ? "stale-values" : ""}`}>{children(held.value)}</div>;
  if (held.refusal) return <Refused refusal={held.refusal} again={again} />;
  return <div class="state" role="status">Reading {what}</div>;
}
