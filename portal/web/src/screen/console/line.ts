// The serial line of a node: server-sent events down, bytes up. A line that breaks is opened again; one that was ended says why, and stays so.
import {signal} from "@preact/signals";
import {pathOf, Refusal, writeBytes} from "../../api/client";
import type {Problem} from "../../api/types";

export interface State {
  state: "opening" | "open" | "broken" | "ended";
  at: number;
  why?: Partial<Problem> | undefined;
}

const AGAIN_MS = 2000;
/** portald says something each 15 s. */
const SILENCE_MS = 45_000;
const PIECE = 4096;
/** A bampid that has just started does not know its BMCs yet. */
const MISSES = 4;

/** The last word of a stream; `again`: nobody ended it. */
interface Closed {
  message: string;
  detail?: string;
  hint?: string;
  again?: boolean;
}

interface Hears {
  opened: () => void;
  bytes: (bytes: Uint8Array) => void;
}

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/** The events of a body, as they come; their data is one line. */
async function* eventsOf(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<{kind: string; data: string}> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    heard();
    const blocks = (rest + decoder.decode(value, {stream: true})).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const field = (name: string) => block.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = field("data");
      if (data !== undefined) yield {kind: field("event") ?? "message", data};
    }
  }
}

export class Line {
  readonly state = signal<State>({state: "opening", at: Date.now()});
  /** When the node said something last. */
  readonly heard = signal(0);
  readonly refusal = signal<Refusal | undefined>(undefined);
  private readonly end = new AbortController();
  private waiting = "";
  private sending = false;

  constructor(private readonly node: string, private readonly hears: Hears) {
    void this.run();
  }

  private say(state: State["state"], why?: Partial<Problem>) {
    this.state.value = {state, at: Date.now(), why};
  }

  private async run() {
    let misses = 0;
    while (!this.end.signal.aborted) {
      const over = await this.once().catch((error) => {
        const status = error instanceof Refusal ? error.status : 0;
        if (!this.end.signal.aborted) this.say("broken", error instanceof Refusal ? error.problem : {title: "the connection broke"});
        misses = status === 404 ? misses + 1 : 0;
        return status === 403 || status === 409 || misses > MISSES;
      });
      if (over && this.state.value.state !== "ended") this.say("ended", this.state.value.why);
      if (over) return;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  /** True: it is over for good. */
  private async once(): Promise<boolean> {
    const attempt = new AbortController();
    this.end.signal.addEventListener("abort", () => attempt.abort());
    let silence = window.setTimeout(() => attempt.abort(), SILENCE_MS);
    const answer = await fetch(pathOf("/api/v1/nodes/{node}/console/stream", {node: this.node}), {credentials: "same-origin", signal: attempt.signal}).catch(() => undefined);
    if (!answer?.ok || !answer.body) throw await Refusal.of(answer);
    this.say("open");
    this.hears.opened();
    const heard = () => {
      clearTimeout(silence);
      silence = window.setTimeout(() => attempt.abort(), SILENCE_MS);
    };
    for await (const {kind, data} of eventsOf(answer.body, heard)) {
      if (kind === "console") {
        this.hears.bytes(bytesOf(data));
        this.heard.value = Date.now();
      }
      if (kind === "closed") {
        attempt.abort();
        const {message, again, ...why} = JSON.parse(data) as Closed;
        this.say(again ? "broken" : "ended", {...why, title: message});
        return !again;
      }
    }
    throw new Error("it ended without a word");
  }

  /** What is pressed goes in order, one request at a time. */
  type(text: string) {
    this.waiting += text;
    if (!this.sending) void this.send();
  }

  private async send() {
    this.sending = true;
    while (this.waiting && !this.end.signal.aborted) {
      const all = new TextEncoder().encode(this.waiting);
      this.waiting = "";
      for (let at = 0; at < all.length; at += PIECE) {
        try {
          await writeBytes("POST /api/v1/nodes/{node}/console/input", {node: this.node}, all.slice(at, at + PIECE));
          this.refusal.value = undefined;
        } catch (error) {
          // What was not taken is not typed later, when nobody expects it.
          this.refusal.value = error as Refusal;
          this.waiting = "";
          break;
        }
      }
    }
    this.sending = false;
  }

  close() {
    this.end.abort();
  }
}
