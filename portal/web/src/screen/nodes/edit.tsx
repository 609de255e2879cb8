// Where a node stands and what it is, edited against the version that was read.
import {useEffect, useRef, useState} from "preact/hooks";
import {type Refusal, write} from "../../api/client";
import {node as nodeSource, nodes as nodesSource} from "../../api/sources";
import type {Node} from "../../api/types";
import {Changed, currentOf} from "../../part/changed";
import {Command} from "../../part/command";

const NAMES = {class: "Class", rack: "Rack", unit: "Unit", serial: "Serial"};
type Field = keyof typeof NAMES;
type Values = Record<Field, string>;

const valuesOf = (node: Node): Values => ({class: node.class ?? "", rack: node.rack ?? "", unit: node.unit === null ? "" : String(node.unit), serial: node.serial ?? ""});
const FIELDS = Object.keys(NAMES) as Field[];

/** Only what differs goes out: a merge patch. */
function patchOf(before: Values, mine: Values) {
  const patch: Record<string, string | number | null> = {};
  for (const name of FIELDS) {
    if (mine[name] !== before[name]) patch[name] = mine[name] === "" ? null : name === "unit" ? Number(mine[name]) : mine[name];
  }
  return patch;
}

/** An empty cell of a sheet leaves the value as it is. */
function importLine(name: string, patch: Record<string, string | number | null>): string {
  const changed = Object.keys(patch);
  return `printf '${[`name,${changed.join(",") || "class"}`, `${name},${changed.map((one) => patch[one] ?? "").join(",")}`, ""].join("\\n")}' | haasctl node import -`;
}

export function Edit({node, close}: {node: Node; close: () => void}) {
  const box = useRef<HTMLDialogElement>(null);
  const [base, setBase] = useState(node);
  const [mine, setMine] = useState(valuesOf(node));
  const [refusal, setRefusal] = useState<Refusal>();
  const [busy, setBusy] = useState(false);
  useEffect(() => box.current?.showModal(), []);

  const before = valuesOf(base);
  const patch = patchOf(before, mine);
  const current = currentOf<Node>(refusal);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setRefusal(undefined);
    try {
      await write("PATCH /api/v1/nodes/{node}", {place: {node: node.name}, body: patch, version: base.version});
      void nodesSource().reload();
      void nodeSource(node.name).reload();
      close();
    } catch (error) {
      setRefusal(error as Refusal);
    }
    setBusy(false);
  };
  const go = (values: Values) => {
    setBase(current!);
    setMine(values);
    setRefusal(undefined);
  };
  const merge = () => {
    const now = valuesOf(current!);
    go(Object.fromEntries(FIELDS.map((name) => [name, mine[name] === before[name] ? now[name] : mine[name]])) as Values);
  };
  return (
    <dialog ref={box} onClose={close} aria-labelledby="edit-title">
      <form onSubmit={submit}>
        <h2 id="edit-title">Edit <span class="mono">{node.name}</span></h2>
        {FIELDS.map((name) => (
          <div class="field" key={name}>
            <label for={`edit-${name}`}>{NAMES[name]}</label>
            <input id={`edit-${name}`} value={mine[name]} maxLength={63} {...(name === "unit" ? {inputMode: "numeric" as const, pattern: "[0-9]*"} : {})} onInput={(event) => setMine({...mine, [name]: event.currentTarget.value})} />
          </div>
        ))}
        {current && <Changed what={`Node ${node.name}`} names={NAMES} before={before} now={valuesOf(current)} mine={mine} merge={merge} take={() => go(valuesOf(current))} />}
        {refusal && !current && (
          <div class="note fail" role="alert">
            <p><b>{refusal.problem.title}</b></p>
            {refusal.problem.errors?.map((one) => <p key={one.message}>{one.column ?? one.pointer} {one.message}{one.allowed && `: ${one.allowed}`}</p>)}
            {refusal.problem.hint && <p>{refusal.problem.hint}</p>}
          </div>
        )}
        <Command line={importLine(node.name, patch)} />
        <div class="actions">
          <button type="button" class="button" onClick={close}>Back</button>
          <button class="button main" disabled={busy || !!current || Object.keys(patch).length === 0}>{busy ? "Writing" : "Save"}</button>
        </div>
      </form>
    </dialog>
  );
}
