// Things from a sheet: each change is tried first (dry run), and what is wrong stands at its cell. Nothing is written while one cell is wrong.
import type {ComponentChildren} from "preact";
import {useEffect, useRef, useState} from "preact/hooks";
import type {Refusal} from "../api/client";
import {Command} from "./command";
import {cellsOf} from "./sheet";
import {count} from "./time";

/** Rows that are drawn: wrong ones first, then the others, up to this number. */
const SHOWN = 100;
const TRY_MS = 400;

/** What a try says of a good sheet: in a sentence, and of each row what it would do. */
export interface Good {
  told: string;
  does?: Map<number, string>;
}

interface Tried {
  text: string;
  result?: Good;
  refusal?: Refusal;
}

interface Props {
  title: string;
  file: string;
  example: string;
  send: (text: string, dryRun: boolean) => Promise<Good>;
  written: () => void;
  /** Without --dry-run. */
  line: (file: string) => string;
  /** Sends it anew when it changes. */
  how?: string;
  children?: ComponentChildren;
  close: () => void;
}

/** By "row column": what is wrong there. Row 1 is the head. */
function wrongCells(tried: Tried | undefined): Map<string, string> {
  const cells = new Map<string, string>();
  for (const one of tried?.refusal?.problem.errors ?? []) {
    const said = [one.message, one.allowed].filter(Boolean).join(": ");
    cells.set(`${one.row ?? 1} ${one.column ?? ""}`, said);
  }
  return cells;
}

function Sheet({rows, wrong, does}: {rows: string[][]; wrong: Map<string, string>; does: Map<number, string> | undefined}) {
  const head = rows[0] ?? [];
  const bad = new Set([...wrong.keys()].map((key) => Number(key.split(" ")[0])));
  const lines = rows.slice(1).map((cells, at) => ({cells, row: at + 2})).sort((a, b) => Number(bad.has(b.row)) - Number(bad.has(a.row)) || a.row - b.row).slice(0, SHOWN);
  const secret = (name: string) => name.includes("password");
  return (
    <div class="cells" tabIndex={0} role="region" aria-label="The sheet">
      <table>
        <thead>
          <tr><th scope="col">Row</th>{head.map((name) => <th scope="col" key={name} class={wrong.has(`1 ${name}`) ? "wrong" : ""}>{name}{wrong.has(`1 ${name}`) && <small>{wrong.get(`1 ${name}`)}</small>}</th>)}<th scope="col">Does</th></tr>
        </thead>
        <tbody>
          {lines.map(({cells, row}) => (
            <tr key={row}>
              <th scope="row">{row}</th>
              {head.map((name, at) => {
                const said = wrong.get(`${row} ${name}`);
                return <td key={name} class={said ? "wrong" : ""}><span class="mono">{secret(name) && cells[at] ? "••••••" : cells[at] ?? ""}</span>{said && <small>{said}</small>}</td>;
              })}
              <td>{wrong.get(`${row} `) ? <small class="fail">{wrong.get(`${row} `)}</small> : does?.get(row) ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length - 1 > lines.length && <p class="quiet small">{count(rows.length - 1 - lines.length)} more rows are not drawn; all are tried.</p>}
    </div>
  );
}

function About({tried, wrong}: {tried: Tried | undefined; wrong: Map<string, string>}) {
  if (!tried) return <p class="quiet" role="status">Choose a file or paste a sheet. It is tried before anything is written.</p>;
  if (tried.result) return <p class="note work" role="status">Every cell is good: {tried.result.told}.</p>;
  const {title, hint} = tried.refusal!.problem;
  return <p class="note fail" role="alert"><b>{wrong.size > 0 ? `${count(wrong.size)} ${wrong.size === 1 ? "cell is" : "cells are"} wrong` : title}</b>; nothing was written. {wrong.size > 0 ? "What may stand there is said at each." : hint}</p>;
}

export function Import({title, file, example, send, written, line, how = "", children, close}: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [name, setName] = useState(file);
  const [tried, setTried] = useState<Tried>();
  const [busy, setBusy] = useState(false);
  useEffect(() => box.current?.showModal(), []);

  useEffect(() => {
    setTried(undefined);
    if (text.trim() === "") return undefined;
    let left = false;
    const timer = setTimeout(async () => {
      try {
        const result = await send(text, true);
        if (!left) setTried({text, result});
      } catch (error) {
        if (!left) setTried({text, refusal: error as Refusal});
      }
    }, TRY_MS);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [text, how]);

  const take = async (one: File | undefined) => {
    if (!one) return;
    setName(one.name);
    setText(await one.text());
  };
  const ready = !busy && tried?.text === text && tried.result !== undefined;
  const write = async () => {
    setBusy(true);
    try {
      await send(text, false);
      written();
      close();
    } catch (error) {
      setTried({text, refusal: error as Refusal});
    }
    setBusy(false);
  };
  const rows = cellsOf(text);
  const wrong = wrongCells(tried);
  return (
    <dialog ref={box} class="wide" onClose={close} aria-labelledby="import-title">
      <h2 id="import-title">{title}</h2>
      <div class="bar">
        <label class="button">Choose a file<input type="file" class="hidden" accept=".csv,text/csv" onChange={(event) => void take(event.currentTarget.files?.[0])} /></label>
        <button type="button" class="button bare" onClick={() => setText(example)}>An example</button>
        {children}
      </div>
      <div class="field">
        <label for="import-text">Or paste it</label>
        <textarea id="import-text" class="mono" rows={4} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </div>
      <About tried={tried} wrong={wrong} />
      {rows.length > 1 && <Sheet rows={rows} wrong={wrong} does={tried?.result?.does} />}
      <Command line={`${line(name)}${ready ? "" : " --dry-run"}`} />
      <div class="actions">
        <button type="button" class="button" onClick={close}>Back</button>
        <button type="button" class="button main" disabled={!ready} onClick={() => void write()}>{busy ? "Writing" : `Import ${rows.length > 1 ? count(rows.length - 1) : ""} ${rows.length === 2 ? "row" : "rows"}`}</button>
      </div>
    </dialog>
  );
}
