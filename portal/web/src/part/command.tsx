// The haasctl line that does the same, to copy.
import {useState} from "preact/hooks";

/** A word of a shell line; what is not plain is quoted. */
export function quote(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;
}

export function Command({line, label = "same as"}: {line: string; label?: string}) {
  const [copied, setCopied] = useState(false);
  const copy = () =>
    void navigator.clipboard.writeText(line).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  return (
    <div class="command">
      <span>{label}</span>
      <code>{line}</code>
      <button type="button" class="button" onClick={copy} aria-label={`Copy ${line}`}>{copied ? "Copied" : "Copy"}</button>
    </div>
  );
}
