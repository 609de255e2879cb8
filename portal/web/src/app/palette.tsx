// The command palette: screens, nodes and PDCIs by what they are called, and what the page itself can do.
import {useEffect, useMemo, useRef, useState} from "preact/hooks";
import {nodes, pdcis} from "../api/sources";
import {useSource} from "../api/source";
import {pasted} from "../screen/drill/url";
import {pdciHref} from "../screen/pdcis/pdcis";
import {nextScheme} from "./own";
import {go} from "./route";
import {myScreens} from "./screens";
import {isSite, logOut} from "./session";

interface Entry {
  name: string;
  kind: string;
  /** What else finds it: addresses, MACs, serials. */
  also: string;
  run: () => void;
}

const SHOWN = 12;

function useEntries(): Entry[] {
  const fleet = useSource(nodes()).value;
  const rented = useSource(pdcis(true)).value;
  return useMemo(
    () => [
      ...myScreens().map((one) => ({name: isSite.value ? one.title : one.own ?? one.title, kind: "screen", also: `g ${one.key}`, run: () => go(one.path)})),
      {name: "Light, dark, or as the machine", kind: "page", also: "scheme theme", run: nextScheme},
      {name: "Log out", kind: "page", also: "", run: () => void logOut()},
      ...(rented ?? []).map((one) => ({name: one.name, kind: "PDCI", also: one.tenant, run: () => go(pdciHref(one))})),
      ...(fleet ?? []).map((one) => ({
        name: one.name, kind: "node", also: [one.address, one.serial, one.tenant, ...one.nics.map((nic) => nic.mac)].filter(Boolean).join(" "),
        run: () => go(`/nodes/${encodeURIComponent(one.name)}`),
      })),
    ],
    [fleet, rented],
  );
}

export function Palette({close}: {close: () => void}) {
  const box = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const entries = useEntries();
  useEffect(() => box.current?.showModal(), []);
  const found = useMemo(() => {
    const wanted = text.toLowerCase().trim();
    const reference = wanted && pasted(text);
    if (reference) return [{name: text.trim(), kind: "place of the drill", also: "", run: () => go(reference)}];
    const by = (one: Entry) => (one.name.toLowerCase().startsWith(wanted) ? 0 : one.name.toLowerCase().includes(wanted) ? 1 : 2);
    return entries.filter((one) => `${one.name} ${one.also}`.toLowerCase().includes(wanted)).sort((a, b) => by(a) - by(b)).slice(0, SHOWN);
  }, [entries, text]);
  const run = (one: Entry | undefined) => {
    if (!one) return;
    close();
    one.run();
  };
  const moves: Record<string, () => void> = {
    ArrowDown: () => setAt((old) => Math.min(found.length - 1, old + 1)),
    ArrowUp: () => setAt((old) => Math.max(0, old - 1)),
    Enter: () => run(found[at]),
  };
  return (
    <dialog class="palette" ref={box} onClose={close} aria-label="Find">
      <div>
        <input
          role="combobox" aria-expanded="true" aria-controls="found" aria-label="Find a screen, node or PDCI" aria-activedescendant={found[at] ? `found-${at}` : undefined}
          placeholder="Screen, node, PDCI, address, MAC, serial" autocomplete="off" spellcheck={false} value={text}
          onInput={(event) => (setText(event.currentTarget.value), setAt(0))}
          onKeyDown={(event) => {
            const move = moves[event.key];
            if (!move) return;
            event.preventDefault();
            move();
          }}
        />
        {found.length === 0 ? <p class="none">Nothing has this name</p> : (
          <div role="listbox" id="found" aria-label="Found">
            {found.map((one, index) => (
              <div key={one.kind + one.name + one.also} id={`found-${index}`} role="option" aria-selected={index === at} onClick={() => run(one)} onMouseMove={() => setAt(index)}>
                <span class={one.kind === "node" || one.kind === "PDCI" ? "mono" : ""}>{one.name}</span>
                <span class="quiet small">{one.kind}</span>
              </div>
            ))}
          </div>
        )}
      </div>
    </dialog>
  );
}

const help = (): [string, string][] => [
  ["/", "filter this list"],
  ["Ctrl K", "find a screen, a node, a PDCI"],
  ...myScreens().map((one): [string, string] => [`g ${one.key}`, isSite.value ? one.title : one.own ?? one.title]),
  ["↑ ↓", "choose a row"],
  ["Enter", "open it"],
  ["Space", "pick it, for actions on many"],
  ["Esc", "close the panel or dialog"],
];

export function Help({close}: {close: () => void}) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  return (
    <dialog ref={box} onClose={close} aria-labelledby="help-title">
      <form method="dialog">
        <h2 id="help-title">Keys</h2>
        <dl class="keys">{help().map(([key, text]) => <><dt><kbd>{key}</kbd></dt><dd>{text}</dd></>)}</dl>
        <p class="quiet small">A filter takes words: <span class="mono">state:free gpu -r07</span> finds free nodes with "gpu" that are not in r07.</p>
        <div class="actions"><button class="button">Close</button></div>
      </form>
    </dialog>
  );
}
