// What happened to it, and what its BMC wrote down: both newest first.
import {when} from "../../part/time";
import {Mark} from "../../part/mark";
import {nodeLog, nodeStory, olderLog, olderStory} from "./sources";
import {Paged} from "./paged";

export function Story({name}: {name: string}) {
  return (
    <section class="panel flush" aria-label="Story">
      <header><h2>Story</h2><span class="quiet small">newest first</span></header>
      <Paged
        source={nodeStory(name)} older={(cursor) => olderStory(name, cursor)} what="its events" none="Nothing has happened to it yet." keyOf={(event) => event.id}
        row={(event) => (
          <>
            <time dateTime={event.at}>{when(event.at)}</time>
            <span class="grow">{event.message || event.kind}{event.detail.why ? <span class="quiet"> because: {String(event.detail.why)}</span> : null}</span>
            <span class="quiet small">{event.actor.replace(/^account /, "")}</span>
          </>
        )}
      />
    </section>
  );
}

export function EventLog({name, read}: {name: string; read: string | null | undefined}) {
  return (
    <section class="panel flush" aria-label="Event log of the BMC">
      <header><h2>Event log of the BMC</h2><span class="quiet small">{read ? `read ${when(read)}, newest first` : ""}</span></header>
      <Paged
        source={nodeLog(name)} older={(cursor) => olderLog(name, cursor)} what="its event log" none={read ? "Its BMC wrote nothing down." : "Its event log was not read yet."}
        keyOf={(entry) => `${entry.record} ${entry.at ?? entry.seen_at}`}
        row={(entry) => (
          <>
            <time dateTime={entry.at ?? entry.seen_at} title={entry.at ? undefined : "The BMC did not know the time: when it was read"}>{when(entry.at ?? entry.seen_at)}</time>
            <span class="grow">
              <Mark shape={entry.asserted ? "wait" : "idle"}>{entry.sensor || entry.type || "entry"}</Mark> {entry.event}{!entry.asserted && <span class="quiet">, is over</span>}
            </span>
            <span class="quiet small">{entry.sensor ? entry.type : ""}</span>
          </>
        )}
      />
    </section>
  );
}
