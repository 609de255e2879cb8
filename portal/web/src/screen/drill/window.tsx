// When: how long, until when, live or at a second. All of it is in the address.
import {useState} from "preact/hooks";
import type {Drill} from "../../api/types";
import {go} from "../../app/route";
import {clock} from "../../part/time";
import {drillUrl, secondsOf, stamp, type Spot} from "./url";

const WINDOWS: [string, string][] = [["1m", "1 min"], ["5m", "5 min"], ["15m", "15 min"], ["1h", "1 h"], ["6h", "6 h"], ["1d", "1 d"], ["7d", "7 d"], ["30d", "30 d"]];
const DAY_MS = 86400000;

export function lengthText(window: string): string {
  return WINDOWS.find(([word]) => word === window)?.[1] ?? `${window.slice(0, -1)} ${window.slice(-1) === "m" ? "min" : window.slice(-1)}`;
}

/** "10:42:30 to 10:47:30"; the day too where it is another. */
export function spanText(from: string, to: string): string {
  const day = (at: string) => new Date(at).toLocaleDateString("sv");
  const today = day(new Date().toISOString());
  const text = (at: string, plain: boolean) => (plain ? clock(at) : `${day(at)} ${clock(at).slice(0, 5)}`);
  if (Date.parse(to) - Date.parse(from) > DAY_MS || day(from) !== day(to)) return `${text(from, false)} to ${text(to, false)}`;
  return `${day(to) === today ? "" : `${day(to)} `}${clock(from)} to ${clock(to)}`;
}

const two = (value: number) => String(value).padStart(2, "0");

/** "2026-11-27 14:19:00", in this machine's time. */
function local(at: string): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(at)}`;
}

/** What a person typed: a time of day is the last one that was. undefined: no time. */
function typed(text: string): string | undefined {
  const found = /^(?:(\d{4}-\d{2}-\d{2})[ T])?(\d{1,2}:\d{2}(?::\d{2})?)$/.exec(text.trim());
  if (!found) return undefined;
  const day = found[1] ?? local(stamp(Date.now())).slice(0, 10);
  const ms = new Date(`${day}T${found[2]!.padStart(5, "0")}`).getTime();
  if (Number.isNaN(ms)) return undefined;
  return stamp(!found[1] && ms > Date.now() ? ms - DAY_MS : ms);
}

export function Times({spot, level}: {spot: Spot; level: Drill}) {
  const from = Date.parse(level.from);
  const to = Date.parse(level.to);
  const later = to + secondsOf(spot.window) * 1000;
  const follows = later >= Date.now();
  const [wrong, setWrong] = useState(false);
  return (
    <div class="bar times">
      <nav class="segments" aria-label="How long">
        {WINDOWS.map(([word, title]) => <a key={word} href={drillUrl({...spot, window: word})} aria-current={spot.window === word ? "true" : undefined}>{title}</a>)}
      </nav>
      <nav class="segments" aria-label="Until when">
        <a href={drillUrl({...spot, at: stamp(from)})} title={`until ${clock(from)}`}>‹ earlier</a>
        <a href={drillUrl({...spot, at: follows ? undefined : stamp(later)})}>later ›</a>
        <a href={drillUrl({...spot, at: undefined})} aria-current={spot.at ? undefined : "true"}>now</a>
      </nav>
      <form
        class="until"
        onSubmit={(event) => {
          event.preventDefault();
          const at = typed(new FormData(event.currentTarget as HTMLFormElement).get("until") as string);
          setWrong(!at);
          if (at) go(drillUrl({...spot, at}));
        }}
      >
        <label class="small quiet" for="until">until</label>
        <input id="until" name="until" key={level.to} defaultValue={local(level.to)} autocomplete="off" spellcheck={false} aria-invalid={wrong} onInput={() => setWrong(false)} />
        {wrong && <span class="fail small" role="alert">a time is 14:19, 14:19:30 or 2026-11-27 14:19</span>}
      </form>
    </div>
  );
}
