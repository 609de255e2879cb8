// The cells of an OS sheet, a row a place. An empty cell shows what stands there then.
import {useState} from "preact/hooks";
import {CELLS, none, type Cell, type PlaceDraft} from "./rows";

export interface PlaceName {
  place: number;
  class: string;
  node?: string | null;
}

interface Props {
  names: PlaceName[];
  places: PlaceDraft[];
  set: (places: PlaceDraft[]) => void;
  /** "1 hostname" and what is wrong there. */
  errors: Map<string, string>;
}

const SHORT = CELLS.filter((one) => !one.long);
const LONG = CELLS.filter((one) => one.long);
/** Rows that are drawn; of more, those below are loaded by a button. */
const STEP = 64;

function Long({name, value, errors, set}: {name: PlaceName; value: PlaceDraft; errors: Map<string, string>; set: (cell: Cell, text: string) => void}) {
  return (
    <tr>
      <td colSpan={SHORT.length + 3}>
        <div class="fields">
          {LONG.map((one) => {
            const id = `sheet-${name.place}-${one.cell}`;
            const wrong = errors.get(`${name.place} ${one.member}`);
            return (
              <div class="field" key={one.cell}>
                <label for={id}>{one.title} of place {name.place}</label>
                <textarea id={id} class="mono" rows={4} spellcheck={false} value={value[one.cell]} placeholder={one.hint} aria-invalid={!!wrong} onInput={(event) => set(one.cell, event.currentTarget.value)} />
                {wrong && <p class="fail small" role="alert">{wrong}</p>}
              </div>
            );
          })}
        </div>
      </td>
    </tr>
  );
}

function Row({name, value, errors, set, open, toggle}: {name: PlaceName; value: PlaceDraft; errors: Map<string, string>; set: (cell: Cell, text: string) => void; open: boolean; toggle: () => void}) {
  const long = LONG.filter((one) => value[one.cell]).map((one) => one.title).join(", ") || "Keys, user data";
  const wrong = LONG.some((one) => errors.has(`${name.place} ${one.member}`));
  return (
    <>
      <tr>
        <td class="number">{name.place}</td>
        <td><span class="mono">{name.node ?? "–"}</span> <span class="quiet small">{name.class}</span></td>
        {SHORT.map((one) => {
          const fault = errors.get(`${name.place} ${one.member}`);
          return (
            <td key={one.cell}>
              <input
                class="mono" aria-label={`${one.title} of place ${name.place}`} aria-invalid={!!fault} value={value[one.cell]} placeholder={one.hint} autocomplete="off" spellcheck={false}
                onInput={(event) => set(one.cell, event.currentTarget.value)}
              />
              {fault && <p class="fail small" role="alert">{fault}</p>}
            </td>
          );
        })}
        <td>
          <button type="button" class="button" aria-expanded={open || wrong} aria-label={`${long}: place ${name.place}`} onClick={toggle}>{long}</button>
        </td>
      </tr>
      {(open || wrong) && <Long name={name} value={value} errors={errors} set={set} />}
    </>
  );
}

export function SheetEditor({names, places, set, errors}: Props) {
  const [open, setOpen] = useState<number>();
  const [most, setMost] = useState(STEP);
  const change = (at: number) => (cell: Cell, text: string) => set(names.map((_, i) => (i === at ? {...(places[i] ?? none()), [cell]: text} : places[i] ?? none())));
  return (
    <div class="stack">
      <div class="scroll" tabIndex={0} role="region" aria-label="OS sheet">
        <table class="plain sheet">
          <thead><tr><th class="number">Place</th><th>Node</th>{SHORT.map((one) => <th key={one.cell}>{one.title}</th>)}<th><span class="hidden">More</span></th></tr></thead>
          <tbody>
            {names.slice(0, most).map((name, at) => (
              <Row
                key={name.place} name={name} value={places[at] ?? none()} errors={errors} set={change(at)} open={open === name.place}
                toggle={() => setOpen(open === name.place ? undefined : name.place)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {names.length > most && <div class="actions"><button type="button" class="button" onClick={() => setMost(most + STEP)}>Show {Math.min(STEP, names.length - most)} more of {names.length}</button></div>}
    </div>
  );
}
