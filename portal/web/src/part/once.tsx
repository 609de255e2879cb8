// A secret that an answer told once: shown until the person says that it is kept, and then gone from the page.
import {signal} from "@preact/signals";
import type {ComponentChildren} from "preact";
import {useState} from "preact/hooks";

interface Secret {
  title: string;
  secret: string;
  /** What to do with it. */
  next?: ComponentChildren;
}

export function Told({title, secret, next, close}: Secret & {close: () => void}) {
  const [copied, setCopied] = useState(false);
  const copy = () => void navigator.clipboard.writeText(secret).then(() => setCopied(true));
  return (
    <section class="note work once" aria-label="Told once" role="status">
      <p><b>{title}</b></p>
      <pre class="mono secret">{secret}</pre>
      <p>{next} It is told once: nobody can show it again.</p>
      <div class="actions">
        <button type="button" class="button main" onClick={copy}>{copied ? "Copied" : "Copy"}</button>
        <button type="button" class="button" onClick={close}>I have it</button>
      </div>
    </section>
  );
}

const told = signal<Secret | undefined>(undefined);

/** What an action got: `Once` of its screen shows it. */
export function tellOnce(what: Secret) {
  told.value = what;
}

export function Once() {
  const what = told.value;
  return what ? <Told key={what.secret} {...what} close={() => (told.value = undefined)} /> : null;
}
