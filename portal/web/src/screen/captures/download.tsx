// The packets as one pcapng file: pieces of at most 1 MiB, put together here. What is too large for a browser's memory is haasctl's.
import {useState} from "preact/hooks";
import {pathOf, Refusal} from "../../api/client";
import type {Capture} from "../../api/types";
import {Command} from "../../part/command";
import {bytes} from "../../part/time";

const MOST = 256 * 1024 * 1024;

async function* pieces(id: number): AsyncGenerator<ArrayBuffer> {
  for (let offset = 0; ; ) {
    const answer = await fetch(pathOf("/api/v1/captures/{capture}/file", {capture: id}, {offset}), {credentials: "same-origin"}).catch(() => undefined);
    if (!answer?.ok) throw await Refusal.of(answer);
    const piece = await answer.arrayBuffer();
    if (piece.byteLength === 0) return;
    offset += piece.byteLength;
    yield piece;
  }
}

export function Download({one}: {one: Capture}) {
  const [done, setDone] = useState<number>();
  const [wrong, setWrong] = useState("");
  if (one.stored_bytes > MOST) return <Command label={`${bytes(one.stored_bytes)} is more than a browser keeps:`} line={`haasctl capture download ${one.id} ${one.node}.pcapng`} />;
  const run = async () => {
    const parts: ArrayBuffer[] = [];
    setWrong("");
    setDone(0);
    try {
      for await (const piece of pieces(one.id)) {
        parts.push(piece);
        setDone((sum) => (sum ?? 0) + piece.byteLength);
      }
      const url = URL.createObjectURL(new Blob(parts, {type: "application/vnd.tcpdump.pcap"}));
      const link = document.createElement("a");
      link.href = url;
      link.download = `capture-${one.id}-${one.node}.pcapng`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 60000);
    } catch (error) {
      const {title, hint} = (error as Refusal).problem ?? {};
      setWrong([title ?? "the download broke off", hint].filter(Boolean).join(": "));
    }
    setDone(undefined);
  };
  return (
    <>
      <button type="button" class="button main" disabled={done !== undefined} onClick={() => void run()}>{done === undefined ? `Download ${bytes(one.stored_bytes)}` : `${bytes(done)} of ${bytes(one.stored_bytes)}`}</button>
      {wrong && <p class="fail small" role="alert">{wrong}</p>}
    </>
  );
}
