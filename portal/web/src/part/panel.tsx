// The panel beside a list: one thing, its reason first, its facts, what to do. Below 900 pixels it is a sheet.
import type {ComponentChildren} from "preact";
import {setWords} from "../app/route";

export function Panel({title, children}: {title: ComponentChildren; children: ComponentChildren}) {
  return (
    <section class="panel aside" aria-label="Chosen" tabIndex={0} onKeyDown={(event) => event.key === "Escape" && setWords({at: undefined})}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="button bare" aria-label="Close the panel" onClick={() => setWords({at: undefined})}>✕</button>
      </header>
      {children}
    </section>
  );
}

export function Facts({rows}: {rows: [string, ComponentChildren][]}) {
  return (
    <dl class="facts">
      {rows.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([term, value]) => (
        <>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}

/** A problem or a wait as portald tells it: the fact, the details, the next step. */
export function Why({tone, said, children}: {tone: "wait" | "fail" | "work"; said: {message?: string; detail?: string; hint?: string} | null | undefined; children?: ComponentChildren}) {
  if (!said) return null;
  return (
    <div class={`note ${tone}`}>
      <p><b>{said.message}</b>{children}</p>
      {said.detail && <p>{said.detail}</p>}
      {said.hint && <p class="quiet">{said.hint}</p>}
    </div>
  );
}
