// A source is something that the API can be asked for again: it keeps the last good answer, asks again when an event touches it and now and then, and says
// since when it is stale. It asks only while a screen shows it.
import {signal, type Signal} from "@preact/signals";
import {useEffect} from "preact/hooks";
import {Refusal} from "./client";
import {listen, listenValues, live, onGap, type Happening, type Value} from "./stream";

export interface Held<T> {
  value?: T;
  /** When all of the value was read; 0: never. */
  at: number;
  /** Why it could not be read again. */
  refusal?: Refusal;
  busy: boolean;
}

export interface Spec<T> {
  load: (seen: (value: T) => void) => Promise<T>;
  /** Whether an event may have changed it. */
  touches?: (event: Happening, value: T | undefined) => boolean;
  /** Milliseconds until it is read again without an event. */
  every?: (value: T | undefined) => number;
  /** Reads less than all of it for an event; false: all is to be read. */
  patch?: (event: Happening, source: Source<T>) => boolean;
  /** Takes over newest values of what moves; false: all is to be read. */
  move?: (items: Value[], value: T, source: Source<T>) => boolean;
}

const AGAIN_MS = 300;
const AWAY_MS = 5000;

export class Source<T> {
  readonly held: Signal<Held<T>> = signal<Held<T>>({at: 0, busy: false});
  private watchers = 0;
  private timer = 0;
  private due = false;
  /** An event waits for its reading: later ones do not put it off. */
  private soon = false;
  private unlisten?: () => void;

  constructor(private readonly spec: Spec<T>) {}

  watch(): () => void {
    if (this.watchers++ === 0) {
      const stops = [listen((event) => this.hear(event)), listenValues((items) => this.hearValues(items)), onGap(() => this.again())];
      this.unlisten = () => stops.forEach((stop) => stop());
      void this.reload();
    }
    return () => {
      if (--this.watchers > 0) return;
      this.unlisten?.();
      clearTimeout(this.timer);
    };
  }

  put(value: T) {
    this.held.value = {value, at: Date.now(), busy: this.held.value.busy};
  }

  async reload(): Promise<void> {
    if (this.held.value.busy) {
      this.due = true;
      return;
    }
    clearTimeout(this.timer);
    this.due = this.soon = false;
    const first = this.held.value.value === undefined;
    this.held.value = {...this.held.value, busy: true};
    try {
      const value = await this.spec.load((part) => first && (this.held.value = {value: part, at: 0, busy: true}));
      this.held.value = {value, at: Date.now(), busy: false};
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal(0, {title: "the answer is not understood", detail: String(error), hint: "load the page again"});
      const gone = refusal.status === 404;
      this.held.value = {value: gone ? undefined : this.held.value.value, at: this.held.value.at, refusal, busy: false};
    }
    if (this.watchers > 0) this.arm(this.due ? AGAIN_MS : this.rest());
  }

  private rest(): number {
    const {value, refusal} = this.held.value;
    if (refusal) return AWAY_MS;
    const every = this.spec.every?.(value) ?? 30000;
    return live.value.on ? every : Math.min(every, 10000);
  }

  private arm(ms: number) {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (document.hidden ? this.arm(ms) : void this.reload()), ms);
  }

  private hear(event: Happening) {
    if (!this.spec.touches?.(event, this.held.value.value)) return;
    if (this.spec.patch?.(event, this)) return;
    this.again();
  }

  private hearValues(items: Value[]) {
    const {value} = this.held.value;
    if (value !== undefined && this.spec.move?.(items, value, this) === false) this.again();
  }

  private again() {
    if (this.held.value.busy) this.due = true;
    if (this.held.value.busy || this.soon) return;
    this.soon = true;
    this.arm(AGAIN_MS);
  }
}

export function useSource<T>(source: Source<T>): Held<T> {
  useEffect(() => source.watch(), [source]);
  return source.held.value;
}

const kept = new Map<string, unknown>();

/** The source of one thing: the same as long as the page lives, or until `forgetSources`. */
export function sourceOf<T>(key: string, spec: () => Spec<T>): Source<T> {
  let source = kept.get(key) as Source<T> | undefined;
  if (!source) {
    source = new Source(spec());
    kept.set(key, source);
  }
  return source;
}

/** Another person sees other things. */
export function forgetSources() {
  kept.clear();
}
