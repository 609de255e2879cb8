// The haasctl line that does the same, to copy.
import {useState} from "preact/hooks";

/** A word of a shell line; what is not plain is quoted. */
export function quote(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;
}

/** An option is broken nowhere: not after its dashes. A word as long as a line has to be. */
const LONG = 24;
const words = (line: string) => line.split(/(\s+)/).map((word, at) => (word.includes("-") && word.length <= LONG ? <span key={at}>{word}</span> : word));

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
      <code>{words(line)}</code>
      <button type="button" class="button" onClick={copy} aria-label={`Copy ${line}`}>{copied ? "Copied" : "Copy"}</button>
    </div>
  );
}
