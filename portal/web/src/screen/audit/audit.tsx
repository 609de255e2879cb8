// Audit: who did what to which subject, when and why; the signed blocks that nobody can edit without being seen.
import {read} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import type {AuditHead, Event} from "../../api/types";
import {isSite} from "../../app/session";
import {query, setWords} from "../../app/route";
import {subjectHref} from "../../app/subject";
import {Command, quote} from "../../part/command";
import {ListScreen} from "../../part/list";
import {Facts, Panel} from "../../part/panel";
import {Empty} from "../../part/screen";
import type {Column} from "../../part/table";
import {when} from "../../part/time";
import {Change} from "./change";

const READ = 500;

const actorOf = (one: Event) => one.actor.replace(/^account /, "");

const COLUMNS: Column<Event>[] = [
  {name: "at", title: "When", value: (row) => row.at, cell: (row) => <time>{when(row.at)}</time>, width: "140px", narrow: "state"},
  {name: "actor", title: "Who", value: actorOf, width: "minmax(100px, 0.6fr)", narrow: "sub"},
  {name: "kind", title: "What", value: (row) => row.kind, width: "minmax(140px, 0.8fr)", mono: true, narrow: "sub"},
  {name: "subject", title: "Subject", value: (row) => `${row.subject_kind} ${row.subject}`, cell: (row) => <span><span class="quiet">{row.subject_kind}</span> <span class="mono">{row.subject}</span></span>, width: "minmax(140px, 1fr)"},
  {name: "message", title: "Message", value: (row) => row.message, width: "minmax(180px, 2fr)", wide: true, narrow: "title"},
  {name: "tenant", title: "Tenant", value: (row) => row.tenant, width: "100px", extra: true},
  {name: "request", title: "Request", value: (row) => row.request, width: "140px", mono: true, extra: true},
];

/** The newest, of a kind and a subject; an event adds one. */
const events = (kind: string, pages: number) =>
  sourceOf<Event[]>(`events ${kind} ${pages}`, () => ({
    load: async () => {
      const items: Event[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < pages; page++) {
        const got = await read("/api/v1/events", {}, {order: "newest", limit: READ, kind: kind || undefined, cursor});
        items.push(...got.items);
        cursor = got.next ?? undefined;
        if (!cursor) break;
      }
      return items;
    },
    touches: () => true,
    every: () => 15000,
  }));

const head = () => sourceOf<AuditHead>("audit head", () => ({load: () => read("/api/v1/audit/head"), every: () => 30000}));

function Head() {
  const held = useSource(head()).value;
  if (!held) return <p class="quiet small">No block was signed yet: bampid signs one when something has happened.</p>;
  const body = JSON.parse(held.body) as {events?: number; sealed_at?: string};
  return (
    <section class="panel" aria-label="The last signed block">
      <header><h2>Block {held.block}</h2><span class="quiet small">{body.events} {body.events === 1 ? "event" : "events"}, signed {body.sealed_at ? when(body.sealed_at) : ""}</span></header>
      <Facts rows={[["Hash", <span class="mono small">{held.hash}</span>], ["Signed by", <span class="mono small">{held.public_key}</span>]]} />
      <Command label="keep them elsewhere" line="haasctl audit head -o json > head.json; haasctl certificate keys -o json > keys.json" />
      <Command label="take the events" line="haasctl audit export > audit.jsonl" />
      <Command label="verify" line="haasctl audit verify audit.jsonl --head head.json --keys keys.json" />
    </section>
  );
}

function Chosen({one}: {one: Event}) {
  const href = subjectHref(one.subject_kind, one.subject, one.tenant);
  return (
    <Panel title={<span class="mono">{one.kind}</span>}>
      <p>{one.message}</p>
      <Change detail={one.detail} />
      <Facts
        rows={[
          ["Who", actorOf(one)], ["When", when(one.at)], ["Subject", <span><span class="quiet">{one.subject_kind}</span> {href ? <a class="mono" href={href}>{one.subject}</a> : <span class="mono">{one.subject}</span>}</span>], ["Tenant", one.tenant],
          ["Event", String(one.id)],
          ["Request", one.request ? <a class="mono small" href={`/audit?q=${encodeURIComponent(`request:${one.request}`)}&at=${one.id}`}>{one.request}</a> : "none: a daemon did it"],
        ]}
      />
      <Command line={`haasctl event list --subject ${quote(one.subject)}`} />
    </Panel>
  );
}

export function Audit() {
  const kind = query.value.get("kind") ?? "";
  const pages = Math.max(1, Math.min(20, Number(query.value.get("pages") ?? 1)));
  const source = events(kind, pages);
  const held = useSource(source);
  const many = held.value?.length ?? 0;
  return (
    <ListScreen
      title={isSite.value ? "Audit" : "Events"} what="events" table="audit" filter="ann node.state -bampid" held={held} again={() => void source.reload()} columns={COLUMNS} keyOf={(row) => String(row.id)}
      about="who did what, and why"
      numbers={(list) => [
        {value: list.length, label: list.length < READ * pages ? "events in all" : "newest events"},
        {value: new Set(list.map(actorOf)).size, label: "actors"},
        {value: list[0] ? when(list[0].at) : "–", label: "the last one"},
        {value: list.length ? when(list[list.length - 1]!.at) : "–", label: "the first shown"},
      ]}
      bar={
        <label class="inline">Kind
          <input class="filter short" value={kind} placeholder="deployment.*" onChange={(event) => setWords({kind: event.currentTarget.value.trim(), at: undefined, pages: undefined})} />
        </label>
      }
      actions={many >= READ * pages && pages < 20 && <button type="button" class="button" onClick={() => setWords({pages: String(pages + 1)})}>Read {READ} older</button>}
      panel={(row) => <Chosen key={row.id} one={row} />}
      after={isSite.value && <Head />}
      none={<Empty title="No event of this kind" />}
      line={`haasctl event list${kind ? ` --kind '${kind}'` : ""}`}
    />
  );
}
