// Webhooks: receivers outside that are told events, whether they take them, and what was sent.
import {useSource} from "../../api/source";
import type {Webhook} from "../../api/types";
import {isSite, may} from "../../app/session";
import {Command} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {ListScreen} from "../../part/list";
import {Mark, type Shape} from "../../part/mark";
import {Once} from "../../part/once";
import {Facts, Panel, Why} from "../../part/panel";
import {Empty} from "../../part/screen";
import type {Column} from "../../part/table";
import {since, when} from "../../part/time";
import {able, add, change, newSecret, remove} from "./actions";
import {Log} from "./log";
import {webhooks} from "./sources";

const SHAPES: Record<Webhook["state"], Shape> = {ok: "ok", failing: "fail", disabled: "idle"};
const kindsOf = (one: Webhook) => (one.kinds.length ? one.kinds.join(" ") : "all");
const subjectOf = (one: Webhook) => [one.subject_kind, one.subject && `${one.subject}…`].filter(Boolean).join(" ") || "all";

const COLUMNS: Column<Webhook>[] = [
  {name: "name", title: "Webhook", value: (row) => row.name, width: "minmax(110px, 1fr)", narrow: "title"},
  {name: "state", title: "State", value: (row) => row.state, cell: (row) => <Mark shape={SHAPES[row.state]}>{row.state}</Mark>, width: "104px", narrow: "state"},
  {name: "tenant", title: "Of", value: (row) => row.tenant ?? "site", width: "minmax(80px, 0.6fr)", narrow: "sub"},
  {name: "url", title: "Receiver", value: (row) => row.url, mono: true, width: "minmax(180px, 2fr)", narrow: "sub", wide: true},
  {name: "kinds", title: "Events", value: kindsOf, mono: true, width: "minmax(110px, 1fr)"},
  {name: "waiting", title: "Waiting", value: (row) => row.waiting, width: "84px", number: true},
  {name: "delivered", title: "Last taken", value: (row) => row.delivered_at, cell: (row) => <>{row.delivered_at ? `${since(row.delivered_at)} ago` : "–"}</>, width: "110px", number: true, wide: true},
];

function Chosen({one, ask}: {one: Webhook; ask: ReturnType<typeof useDialog>[1]}) {
  return (
    <Panel title={one.name}>
      {one.state === "failing" && <Why tone="fail" said={{message: `it takes nothing since ${when(one.failing_since)}`, hint: one.next_at ? `tried again at ${when(one.next_at)}; the log says why` : "the log says why"}} />}
      <Facts
        rows={[
          ["Receiver", <span class="mono">{one.url}</span>], ["State", <Mark shape={SHAPES[one.state]}>{one.state}</Mark>], ["Events", <span class="mono">{kindsOf(one)}</span>], ["Subjects", subjectOf(one)],
          ["Of", one.tenant ?? "the site: all events"], ["Waiting", one.waiting >= 100 ? "100, and more in the stream" : String(one.waiting)], ["Last taken", one.delivered_at ? when(one.delivered_at) : "never"],
          ["Added", `${when(one.created_at)} by ${one.created_by.replace(/^account /, "")}`],
        ]}
      />
      {may("webhook") && (
        <div class="actions">
          <button type="button" class="button" onClick={() => ask(change(one))}>Change</button>
          <button type="button" class="button" onClick={() => ask(able(one))}>{one.disabled ? "Enable" : "Disable"}</button>
          <button type="button" class="button" onClick={() => ask(newSecret(one))}>New secret…</button>
          <button type="button" class="button danger" onClick={() => ask(remove(one))}>Remove…</button>
        </div>
      )}
      <Log webhook={one.id} />
      <Command line={`haasctl webhook deliveries ${one.id}`} />
    </Panel>
  );
}

export function Webhooks() {
  const source = webhooks();
  const held = useSource(source);
  const [dialog, ask] = useDialog();
  return (
    <>
      <ListScreen
        title="Webhooks" what="webhooks" table="webhooks" filter="failing" held={held} again={() => void source.reload()} columns={isSite.value ? COLUMNS : COLUMNS.filter((one) => one.name !== "tenant")} keyOf={(row) => String(row.id)}
        about="events told to receivers outside"
        numbers={(list) => [
          {value: list.filter((one) => one.state === "ok").length, label: "work", tone: "ok"},
          {value: list.filter((one) => one.state === "failing").length, label: "fail", tone: "fail"},
          {value: list.filter((one) => one.state === "disabled").length, label: "disabled"},
          {value: list.reduce((sum, one) => sum + one.waiting, 0), label: "deliveries wait", tone: "wait"},
        ]}
        before={<Once />}
        actions={may("webhook") && <button type="button" class="button main" onClick={() => ask(add())}>New webhook</button>}
        panel={(row) => <Chosen key={row.id} one={row} ask={ask} />}
        none={<Empty title="Nobody outside is told events"><p class="mono">haasctl webhook add tickets https://tickets.example.org/haas --kind pdci.</p></Empty>}
        line="haasctl webhook list"
      />
      {dialog}
    </>
  );
}
