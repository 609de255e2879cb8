// One thing, edited against the version that was read: only what differs goes out. Who comes second (412) sees what it was, is and would be, and merges.
import {useEffect, useRef, useState} from "preact/hooks";
import type {ComponentChildren} from "preact";
import type {Refusal} from "../api/client";
import {Changed, currentOf, type Written} from "./changed";
import {Command} from "./command";

export type Values = Record<string, string>;

export interface EditField {
  title: string;
  /** What may stand there; without it a text. */
  words?: readonly [string, string][];
  /** What the API takes there; without it a text. `secrets`: lines NAME=VALUE that are written, and never read back. */
  as?: "number" | "seconds" | "size" | "list" | "yes" | "secrets";
  max?: number;
  hint?: string;
}

export const YES_NO: readonly [string, string][] = [["yes", "yes"], ["no", "no"]];

interface Props<T> {
  title: ComponentChildren;
  /** "Node gpu-0001" was changed meanwhile. */
  what: string;
  /** The events of such an edit. */
  by: Written;
  fields: Record<string, EditField>;
  of: T;
  valuesOf: (of: T) => Values;
  /** Only what differs. */
  save: (changed: Values, base: T, mine: Values) => Promise<void>;
  /** What it is now with its version, where that stands in the ETag alone. */
  now?: () => Promise<T>;
  line: (changed: Values, mine: Values) => string;
  children?: ComponentChildren;
  button?: string;
  close: () => void;
}

type Wrong = NonNullable<Refusal["problem"]["errors"]>;

/** What portald says is wrong at one field: at the member of that name, or inside of it. */
const wrongAt = (name: string, errors: Wrong | undefined) => (errors ?? []).filter(({pointer}) => pointer?.split("/").includes(name));
const told = ({message, allowed}: Wrong[number]) => message + (allowed && !message.includes(allowed) && !allowed.includes(message) ? `: ${allowed}` : "");

function Input({name, field, value, set, wrong}: {name: string; field: EditField; value: string; set: (value: string) => void; wrong: Wrong}) {
  const id = `edit-${name}`;
  const common = {id, value, "aria-describedby": wrong.length ? `${id}-wrong` : field.hint ? `${id}-hint` : undefined, "aria-invalid": wrong.length ? ("true" as const) : undefined, autocomplete: "off", spellcheck: false};
  const take = (event: {currentTarget: {value: string}}) => set(event.currentTarget.value);
  const words = field.words ?? (field.as === "yes" ? YES_NO : undefined);
  const number = field.as === "number" || field.as === "seconds";
  const input = words ? <select {...common} onChange={take}>{words.map(([word, title]) => <option key={word} value={word}>{title}</option>)}</select>
    : field.as === "secrets" ? <textarea {...common} class="mono" rows={2} maxLength={4096} onInput={take} />
      : <input {...common} maxLength={field.max ?? 63} {...(number ? {inputMode: "numeric" as const, pattern: "-?[0-9]*"} : {})} onInput={take} />;
  return (
    <div class={`field ${field.as === "secrets" ? "whole" : ""}`}>
      <label for={id}>{field.title}</label>
      {input}
      {wrong.length > 0 && <p id={`${id}-wrong`} class="small wrong" role="alert">{wrong.map(told).join("; ")}</p>}
      {field.hint && <p id={`${id}-hint`} class="small quiet">{field.hint}</p>}
    </div>
  );
}

/** Reads what is to be edited when the dialog opens: its version is not in the lists. */
export function Fresh<T>({read, children}: {read: () => Promise<T>; children: (of: T) => ComponentChildren}) {
  const [of, setOf] = useState<T>();
  const [refusal, setRefusal] = useState<Refusal>();
  useEffect(() => void read().then(setOf, setRefusal), []);
  if (refusal) return <p class="note fail" role="alert">{refusal.problem.title}</p>;
  return <>{of !== undefined && children(of)}</>;
}

export function Edit<T>({title, what, by, fields, of, valuesOf, save, now, line, children, button, close}: Props<T>) {
  const box = useRef<HTMLDialogElement>(null);
  const [base, setBase] = useState(of);
  const [mine, setMine] = useState(() => valuesOf(of));
  const [refusal, setRefusal] = useState<Refusal>();
  const [current, setCurrent] = useState<T>();
  const [busy, setBusy] = useState(false);
  useEffect(() => box.current?.showModal(), []);

  const names = Object.keys(fields);
  const before = valuesOf(base);
  const changed = Object.fromEntries(names.filter((name) => (mine[name] ?? "") !== (before[name] ?? "")).map((name) => [name, mine[name] ?? ""]));
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setRefusal(undefined);
    try {
      await save(changed, base, mine);
      close();
    } catch (error) {
      const no = error as Refusal;
      if (no.status === 412) setCurrent(now ? await now().catch(() => undefined) : currentOf<T>(no));
      setRefusal(no);
    }
    setBusy(false);
  };
  const goOn = (values: Values) => {
    setBase(current!);
    setMine(values);
    setCurrent(undefined);
    setRefusal(undefined);
  };
  const merge = () => goOn({...valuesOf(current!), ...changed});
  const {errors} = refusal?.problem ?? {};
  const compared = Object.fromEntries(names.filter((name) => fields[name]!.as !== "secrets").map((name) => [name, fields[name]!.title]));
  return (
    <dialog ref={box} onClose={close} aria-labelledby="edit-title">
      <form onSubmit={submit}>
        <h2 id="edit-title">{title}</h2>
        {children}
        <div class="fields">{names.map((name) => <Input key={name} name={name} field={fields[name]!} wrong={wrongAt(name, errors)} value={mine[name] ?? ""} set={(value) => setMine({...mine, [name]: value})} />)}</div>
        {current && <Changed what={what} names={compared} before={before} now={valuesOf(current)} mine={mine} by={by} merge={merge} take={() => goOn(valuesOf(current))} />}
        {refusal && !current && (
          <div class="note fail" role="alert">
            <p><b>{refusal.problem.title}</b></p>
            {errors?.filter((one) => !names.some((name) => wrongAt(name, [one]).length)).map((one) => <p key={one.message}>{one.column ?? one.pointer} {told(one)}</p>)}
            {refusal.problem.hint && <p>{refusal.problem.hint}</p>}
          </div>
        )}
        <Command line={line(changed, mine)} />
        <div class="actions">
          <button type="button" class="button" onClick={close}>Back</button>
          <button class="button main" disabled={busy || !!current || Object.keys(changed).length === 0}>{busy ? "Writing" : button ?? "Save"}</button>
        </div>
      </form>
    </dialog>
  );
}
