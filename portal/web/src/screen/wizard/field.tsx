// A field of the wizard: its label, what is in it, and below it what the API says of its member.
import type {ComponentChildren} from "preact";
import {saidOf} from "../sheet/rows";
import {errorsAt} from "./check";

export function Wrong({pointer}: {pointer: string}) {
  const errors = errorsAt(pointer);
  return <>{errors.map((one) => <p key={`${one.pointer}${one.message}`} class="fail small" role="alert">{saidOf(one)}</p>)}</>;
}

const idOf = (pointer: string) => `field${pointer.replace(/\//g, "-")}`;

interface FieldProps {
  label: string;
  /** Of the member in the request. */
  pointer: string;
  hint?: ComponentChildren;
  /** Gets the id for its input. */
  children: (id: string) => ComponentChildren;
  class?: string;
}

export function Field({label, pointer, hint, children, class: more = ""}: FieldProps) {
  const id = idOf(pointer);
  return (
    <div class={`field ${more}`}>
      <label for={id}>{label}</label>
      {children(id)}
      <Wrong pointer={pointer} />
      {hint && <p class="quiet small">{hint}</p>}
    </div>
  );
}

interface TextProps extends Omit<FieldProps, "children"> {
  value: string;
  set: (value: string) => void;
  placeholder?: string;
  /** Choices that may be typed over. */
  list?: string[];
  mono?: boolean;
}

export function Text({value, set, placeholder, list, mono, ...rest}: TextProps) {
  return (
    <Field {...rest}>
      {(id) => (
        <>
          <input
            id={id} class={mono ? "mono" : ""} value={value} placeholder={placeholder} autocomplete="off" spellcheck={false} list={list ? `${id}-list` : undefined}
            onInput={(event) => set(event.currentTarget.value)}
          />
          {list && <datalist id={`${id}-list`}>{list.map((one) => <option key={one} value={one} />)}</datalist>}
        </>
      )}
    </Field>
  );
}

interface ChoiceProps extends Omit<FieldProps, "children"> {
  value: string;
  set: (value: string) => void;
  choices: [value: string, title: string][];
}

export function Choice({value, set, choices, ...rest}: ChoiceProps) {
  const known = choices.some(([one]) => one === value);
  return (
    <Field {...rest}>
      {(id) => (
        <select id={id} value={value} onChange={(event) => set(event.currentTarget.value)}>
          {!known && <option value={value}>{value || "choose"}</option>}
          {choices.map(([one, title]) => <option key={one} value={one}>{title}</option>)}
        </select>
      )}
    </Field>
  );
}
