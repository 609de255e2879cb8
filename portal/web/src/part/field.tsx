// Fields of a dialog: each writes into a signal, so that the haasctl line below follows.
import type {Signal} from "@preact/signals";
import {useId} from "preact/hooks";
import type {ComponentChildren} from "preact";

interface Props {
  label: string;
  value: Signal<string>;
  hint?: ComponentChildren;
  required?: boolean;
  max?: number;
  inputMode?: "numeric" | "url";
  example?: string;
}

export function Field({label, value, hint, required, max = 255, inputMode, example}: Props) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id} value={value.value} required={required} maxLength={max} inputMode={inputMode} placeholder={example} autocomplete="off" spellcheck={false}
        aria-describedby={hint ? `${id}-hint` : undefined} onInput={(event) => (value.value = event.currentTarget.value)}
      />
      {hint && <p id={`${id}-hint`} class="small quiet">{hint}</p>}
    </div>
  );
}

export function Choice({label, value, words}: {label: string; value: Signal<string>; words: readonly [string, string][]}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value.value} onChange={(event) => (value.value = event.currentTarget.value)}>
        {words.map(([word, title]) => <option key={word} value={word}>{title}</option>)}
      </select>
    </div>
  );
}
