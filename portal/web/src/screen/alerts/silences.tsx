// Who silenced what, why, and until when.
import {useSource} from "../../api/source";
import {silences} from "../../api/sources";
import {may} from "../../app/session";
import type {Ask} from "../../part/dialog";
import {when} from "../../part/time";
import {endSilence, silence} from "./actions";

export function Silences({ask}: {ask: (ask: Ask) => void}) {
  const held = useSource(silences());
  if (!held.value || (held.value.length === 0 && !may("alert"))) return null;
  return (
    <section class="panel flush" aria-label="Silences">
      <header><h2>Silences</h2>{may("alert") && <button type="button" class="button" onClick={() => ask(silence())}>Silence planned work…</button>}</header>
      {held.value.length === 0 && <p class="quiet inside">Nothing is silenced: every alert is told.</p>}
      <ul class="lines">
        {held.value.map((one) => (
          <li key={one.id}>
            <span class="grow"><span class="mono">{[one.kind, one.subject].filter(Boolean).join(" ")}</span> <span class="quiet">{one.reason}, {one.actor.replace(/^account /, "")}</span></span>
            <span class="quiet">{one.silent} silent, until {when(one.until)}</span>
            {may("alert") && <button type="button" class="button" onClick={() => ask(endSilence(one))}>End</button>}
          </li>
        ))}
      </ul>
    </section>
  );
}
