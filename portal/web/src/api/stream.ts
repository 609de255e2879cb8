// The event stream, once a browser: the tab that holds the lock reads it and hands what comes to the others. HTTP/1.1 has six connections for a site,
// and each stream would take one of them for good.
import {signal} from "@preact/signals";
import {isLater, sawPosition} from "./client";
import type {Event as Happening, StreamValues} from "./types";

type Values = StreamValues;
export type Value = Values["items"][number];

type Heard =
  | {event: Happening; id: string}
  | {values: Values}
  | {live: boolean; at: number}
  /** Events may have been missed: what was read before has to be read again. */
  | {gap: true};

export type {Happening};

/** Whether events come now, and since when it is so. */
export const live = signal<{on: boolean; at: number}>({on: false, at: Date.now()});
/** The newest values of what moves, by kind and name, as StreamValues has them. */
export const moving = signal<ReadonlyMap<string, Value>>(new Map());

const listeners = new Set<(event: Happening) => void>();
const valueListeners = new Set<(items: Value[]) => void>();
const gaps = new Set<() => void>();
/** As of when all is known that a screen may have read: whoever reads the stream next goes on there. */
let last = "";
let stop: (() => void) | undefined;

function subscribe<T>(to: Set<T>, fn: T): () => void {
  to.add(fn);
  return () => to.delete(fn);
}

export const listen = (fn: (event: Happening) => void) => subscribe(listeners, fn);
/** Calls `fn` with values that changed. A value of null is gone, or shows to this login no more. */
export const listenValues = (fn: (items: Value[]) => void) => subscribe(valueListeners, fn);
/** Calls `fn` when events may have been missed. */
export const onGap = (fn: () => void) => subscribe(gaps, fn);

export const keyOf = (kind: Value["kind"], name: string) => `${kind} ${name}`;

/** Bits per second of the last 5 s that leave a port; undefined: it is none of the busiest. */
export function loadNow(told: ReadonlyMap<string, Value>, name: string, port: string): number | undefined {
  const value = told.get(keyOf("load", `${name}:${port}`))?.value?.["bits_per_second"];
  return typeof value === "number" ? value : undefined;
}

function hearValues({all, again, items}: Values) {
  const map = new Map(all ? [] : moving.value);
  for (const item of items) {
    if (item.value) map.set(keyOf(item.kind, item.name), item);
    else map.delete(keyOf(item.kind, item.name));
  }
  moving.value = map;
  for (const fn of valueListeners) fn(items);
  if (again?.length) for (const fn of gaps) fn();
}

function hear(heard: Heard) {
  if ("event" in heard) {
    // Who takes over may read anew what the one before had told to some tabs.
    if (!isLater(heard.id, last)) return;
    last = heard.id;
    sawPosition(heard.id);
    for (const fn of listeners) fn(heard.event);
  } else if ("values" in heard) hearValues(heard.values);
  else if ("gap" in heard) for (const fn of gaps) fn();
  else if (heard.live !== live.value.on) live.value = {on: heard.live, at: heard.at};
}

/** Reads the stream until `signal` ends it. The browser connects again by itself, with the last id that it had; a new reader goes on after the last one heard. */
function follow(tell: (heard: Heard) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let source: EventSource;
    const open = () => {
      source = new EventSource(`/api/v1/events/stream?values=true&again=true${last && `&last_event_id=${last}`}`);
      source.onopen = () => tell({live: true, at: Date.now()});
      source.onmessage = (message) => tell({event: JSON.parse(message.data as string) as Happening, id: message.lastEventId});
      source.addEventListener("values", (message) => tell({values: JSON.parse(message.data as string) as Values}));
      source.addEventListener("again", () => tell({gap: true}));
      source.onerror = () => {
        tell({live: false, at: Date.now()});
        if (source.readyState !== EventSource.CLOSED) return;
        source.close();
        if (!signal.aborted) setTimeout(() => !signal.aborted && open(), 3000);
      };
    };
    open();
    signal.addEventListener("abort", () => {
      source.close();
      resolve();
    });
  });
}

/** `position`: of the stream, before anything that a screen of this login reads. */
export function startStream(account: string, position: string) {
  stopStream();
  last = position;
  const channel = new BroadcastChannel(`haas-${account}`);
  const end = new AbortController();
  const tell = (heard: Heard) => {
    hear(heard);
    channel.postMessage(heard);
  };
  channel.onmessage = (message: MessageEvent<Heard | "live?">) => {
    if (message.data !== "live?") return hear(message.data);
    if (!leads) return;
    channel.postMessage({live: live.value.on, at: live.value.at});
    channel.postMessage({values: {all: true, more: false, items: [...moving.value.values()]}});
  };
  let leads = false;
  channel.postMessage("live?");
  navigator.locks
    .request(`haas-stream-${account}`, {signal: end.signal}, () => {
      leads = true;
      return follow(tell, end.signal);
    })
    .catch(() => undefined); // ended while it waited
  stop = () => {
    end.abort();
    channel.close();
    moving.value = new Map();
    live.value = {on: false, at: Date.now()};
  };
}

export function stopStream() {
  stop?.();
  stop = undefined;
}
