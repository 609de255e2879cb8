// Times as the page shows them: of today by the clock, else with the day; spans as 1:12, 3 h, 2 d. And sizes and rates with their units.
import {signal} from "@preact/signals";

/** The second now; what shows a span that runs reads it. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

const two = (value: number) => String(value).padStart(2, "0");

export function clock(at: string | number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export function when(at: string | number | null | undefined): string {
  if (at === null || at === undefined) return "–";
  const date = new Date(at);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return date.toDateString() === new Date(now.value).toDateString() ? clock(at) : `${day} ${clock(at).slice(0, 5)}`;
}

export function span(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 3600) return `${Math.floor(s / 60)}:${two(s % 60)}`;
  if (s < 2 * 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d`;
}

export function since(at: string | number | null | undefined): string {
  return at === null || at === undefined ? "–" : span(now.value - new Date(at).getTime());
}

/** What is left of a step by its share so far; undefined: too early to say. */
export function left(percent: number | null, started: string | null): number | undefined {
  if (percent === null || started === null || percent < 3 || percent >= 100) return undefined;
  const gone = now.value - new Date(started).getTime();
  return gone < 2000 ? undefined : (gone * (100 - percent)) / percent;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(size: number | null | undefined): string {
  if (size === null || size === undefined) return "–";
  let at = 0;
  while (size >= 1024 && at < UNITS.length - 1) {
    size /= 1024;
    at++;
  }
  return `${size >= 100 || at === 0 ? Math.round(size) : size.toFixed(1)} ${UNITS[at]}`;
}

export function count(n: number): string {
  return n.toLocaleString("en").replace(/,/g, "\u202f");
}

const RATES = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];

/** A rate of bits, as haasctl and the drill print it: 413.5 Mbit/s. */
export function bits(perSecond: number | null | undefined): string {
  if (perSecond === null || perSecond === undefined) return "–";
  let at = 0;
  let value = perSecond;
  while (value >= 1000 && at < RATES.length - 1) {
    value /= 1000;
    at++;
  }
  return `${at === 0 ? Math.round(value) : value.toFixed(1)} ${RATES[at]}`;
}
