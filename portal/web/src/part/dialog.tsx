// A dialog says what goes, asks for its count where that cannot be taken back, and shows the haasctl line. What portald refuses stays in it, item by item.
import type {ComponentChildren} from "preact";
import {useEffect, useRef, useState} from "preact/hooks";
import {Refusal} from "../api/client";
import {Changed, currentOf, type Edits} from "./changed";
import {Command} from "./command";

export interface Ask {
  title: string;
  children?: ComponentChildren;
  /** What is meant, by name. */
  names: string[];
  /** One of them: "node", "deployment". */
  noun: string;
  button: string;
  /** Its count has to be typed. */
  destructive?: boolean;
  /** Asks for the reason: required, or kept when there is one. */
  reason?: "required" | "kept";
  /** Another text than a reason: how it is called, what stands there at first. */
  text?: {label: string; value?: string};
  line: (why: string) => string;
  /** It writes over something that was read: who comes second (412) sees what differs. */
  edits?: Edits;
  /** Items that were refused one by one are the answer. `version`: of what is now, after the person has seen it. */
  act: (why: string, version?: number) => Promise<{message: string; node?: string | undefined}[] | void>;
}

/** Names that are shown; the count says how many there are. */
const NAMED = 16;

function Problem({refusal}: {refusal: Refusal}) {
  const {title, detail, hint, errors} = refusal.problem;
  return (
    <div class="note fail" role="alert">
      <p><b>{title}</b></p>
      {detail && <p>{detail}</p>}
      {errors?.filter((one) => one.message !== title).map((one) => <p key={`${one.node}${one.message}`}>{one.node && <span class="mono">{one.node} </span>}{one.message}{one.allowed && `: ${one.allowed}`}</p>)}
      {hint && <p>{hint}</p>}
    </div>
  );
}

export function Dialog({ask, close}: {ask: Ask; close: () => void}) {
  const box = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [why, setWhy] = useState(ask.text?.value ?? "");
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const [current, setCurrent] = useState<unknown>();
  const [version, setVersion] = useState<number>();
  const [refused, setRefused] = useState<{message: string; node?: string | undefined}[]>([]);
  useEffect(() => box.current?.showModal(), []);

  const total = String(ask.names.length);
  const ready = !busy && current === undefined && (!ask.destructive || typed.trim() === total) && (ask.reason !== "required" || why.trim() !== "");
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!ready) return;
    setBusy(true);
    setRefusal(undefined);
    try {
      const items = (await ask.act(why.trim(), version)) ?? [];
      if (items.length === 0) return close();
      setRefused(items);
    } catch (error) {
      setRefusal(error as Refusal);
      setCurrent(ask.edits && currentOf(error as Refusal));
    }
    setBusy(false);
  };
  const keepMine = ({now, merge}: Edits) => {
    merge?.(current);
    setVersion(now(current).version);
    setCurrent(undefined);
    setRefusal(undefined);
  };
  const many = ask.names.length === 1 ? ask.noun : `${ask.noun}s`;
  return (
    <dialog ref={box} onClose={close} aria-labelledby="dialog-title">
      <form onSubmit={submit}>
        <h2 id="dialog-title">{ask.title}</h2>
        {ask.children}
        {ask.names.length > 0 && <p class="names"><b>{total}</b> {many}: <span class="mono">{ask.names.slice(0, NAMED).join(", ")}</span>{ask.names.length > NAMED && `, and ${ask.names.length - NAMED} more`}</p>}
        {ask.text && (
          <div class="field">
            <label for="dialog-why">{ask.text.label}</label>
            <textarea id="dialog-why" rows={4} maxLength={2000} value={why} required={ask.reason === "required"} onInput={(event) => setWhy(event.currentTarget.value)} />
          </div>
        )}
        {ask.reason && !ask.text && (
          <div class="field">
            <label for="dialog-why">Why{ask.reason === "kept" && ", kept with the events (may be empty)"}</label>
            <input id="dialog-why" maxLength={255} value={why} required={ask.reason === "required"} onInput={(event) => setWhy(event.currentTarget.value)} />
          </div>
        )}
        {ask.destructive && (
          <div class="field">
            <label for="dialog-count">Type {total}, the count of what goes</label>
            <input id="dialog-count" inputMode="numeric" autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
          </div>
        )}
        <Command line={ask.line(why.trim())} />
        {refusal && current === undefined && <Problem refusal={refusal} />}
        {ask.edits && current !== undefined && <Changed {...ask.edits} now={ask.edits.now(current).members} mine={ask.edits.mine()} merge={() => keepMine(ask.edits!)} take={close} />}
        {refused.length > 0 && (
          <div class="note wait" role="alert">
            <p><b>{refused.length} of {total} were refused</b>; the others are done.</p>
            {refused.map((one) => <p key={`${one.node}${one.message}`}><span class="mono">{one.node}</span> {one.message}</p>)}
          </div>
        )}
        <div class="actions">
          <button type="button" class="button" onClick={close}>{refused.length > 0 ? "Close" : "Back"}</button>
          {refused.length === 0 && <button class={`button main ${ask.destructive ? "danger" : ""}`} disabled={!ready}>{busy ? "Asked" : ask.button}</button>}
        </div>
      </form>
    </dialog>
  );
}

/** The dialog that is open, and how to open one. */
export function useDialog(): [ComponentChildren, (ask: Ask) => void] {
  const [ask, setAsk] = useState<Ask>();
  return [ask ? <Dialog key={ask.title} ask={ask} close={() => setAsk(undefined)} /> : null, setAsk];
}
