// Captures of packets: who asked, who consented, what each waits for; and what tenants have consented to ahead of time.
import {useSource} from "../../api/source";
import type {Capture} from "../../api/types";
import {query} from "../../app/route";
import {isSite, may, me} from "../../app/session";
import {Command} from "../../part/command";
import {useDialog, type Ask} from "../../part/dialog";
import {ListScreen, OpenOrAll} from "../../part/list";
import {Mark} from "../../part/mark";
import {Empty, Shown} from "../../part/screen";
import type {Column} from "../../part/table";
import {forget, useThing} from "../../part/thing";
import {bytes, since, when} from "../../part/time";
import {capturesHref, grant, nameOf, withdraw} from "./actions";
import {Chosen} from "./capture";
import {becauseText, shapeOfCapture, waitsFor} from "./shape";
import {captures, grants, points} from "./sources";
import {POINT} from "./things";

const plain = (actor: string | null) => (actor ?? "").replace(/^account /, "");

const COLUMNS: Column<Capture>[] = [
  {name: "id", title: "Capture", value: (row) => row.id, cell: (row) => <a class="mono" href={capturesHref(row.id)}>{row.id}</a>, width: "82px", number: true},
  {name: "place", title: "Between", value: nameOf, width: "minmax(150px, 1.4fr)", mono: true, narrow: "title"},
  {name: "tenant", title: "Tenant", value: (row) => row.tenant, width: "minmax(80px, 0.6fr)", narrow: "sub"},
  {name: "state", title: "State", value: (row) => row.state, cell: (row) => <Mark shape={shapeOfCapture(row)}>{row.state}</Mark>, width: "104px", narrow: "state"},
  {name: "why", title: "Why", wide: true, value: (row) => row.problem?.message as string ?? waitsFor(row) ?? becauseText(row) ?? null, width: "minmax(160px, 2fr)", narrow: "sub"},
  {name: "packets", title: "Packets", value: (row) => row.packets, width: "86px", number: true},
  {name: "bytes", title: "Size", value: (row) => row.bytes, cell: (row) => <span>{bytes(row.bytes)}</span>, width: "86px", number: true, wide: true},
  {name: "requester", title: "Asked by", value: (row) => plain(row.requester), width: "110px", wide: true, narrow: "sub"},
  {name: "since", title: "Age", value: (row) => row.created_at, cell: (row) => <span title={when(row.created_at)}>{since(row.created_at)}</span>, width: "90px", number: true},
  {name: "filter", title: "Filter", value: (row) => row.filter, width: "minmax(120px, 1fr)", mono: true, extra: true},
];

function Grants({ask}: {ask: (ask: Ask) => void}) {
  const source = grants();
  const held = useSource(source);
  const admin = me.value?.role === "tenant-admin";
  return (
    <section class="panel flush" aria-label="Consent">
      <header><h2>Consent ahead of time</h2>{admin && <button type="button" class="button" onClick={() => ask(grant())}>Consent…</button>}</header>
      <Shown held={held} what="what was consented to" again={() => void source.reload()}>
        {(list) =>
          list.length === 0 ? <p class="quiet inside">{admin ? "You have consented to no capture ahead of time: each one asks you." : "No tenant has consented ahead of time: each capture asks its admin."}</p> : (
            <ul class="lines">
              {list.map((one) => (
                <li key={one.id}>
                  <span class="grow"><b>{one.tenant}</b> <span class="mono">{one.node ?? "all its nodes"}</span> <span class="quiet">by {plain(one.granted_by)}</span></span>
                  {one.valid ? <Mark shape="ok">until {when(one.expires_at)}</Mark> : <Mark shape="idle">{one.withdrawn_at ? `withdrawn ${when(one.withdrawn_at)}` : `over ${when(one.expires_at)}`}</Mark>}
                  {one.valid && admin ? <button type="button" class="button" onClick={() => ask(withdraw(one.id, one.node ?? "all nodes"))}>Withdraw…</button> : <span />}
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
    </section>
  );
}

function Points({ask}: {ask: (ask: Ask) => void}) {
  const [form, edit] = useThing();
  const set = may("point");
  const source = points();
  const held = useSource(source);
  return (
    <section class="panel flush" aria-label="Mirror ports">
      <header><h2>Mirror ports</h2>{set && <button type="button" class="button" onClick={() => edit(POINT)}>New mirror port</button>}</header>
      <Shown held={held} what="mirror ports" again={() => void source.reload()}>
        {(list) =>
          list.length === 0 ? <div class="inside"><p class="quiet">No switch has a mirror port, so no packets can be captured.</p><Command label="set one" line="haasctl capture point leaf1 --port Ethernet1/48 --interface eth3" /></div> : (
            <ul class="lines">
              {list.map((one) => (
                <li key={one.switch}>
                  <span class="grow"><span class="mono">{one.switch}</span> <span class="quiet">{one.port ? <>port <span class="mono">{one.port}</span></> : <>{one.kind} from <span class="mono">{one.origin}</span> to <span class="mono">{one.address}</span></>}, at {one.collector} on <span class="mono">{one.interface}</span></span></span>
                  {one.there ? <Mark shape="ok">there</Mark> : <Mark shape="fail">the switch shows no such port</Mark>}
                  {set && <span class="bar"><button type="button" class="button" aria-label={`Edit the mirror port of ${one.switch}`} onClick={() => edit(POINT, one.switch)}>Edit</button><button type="button" class="button danger" aria-label={`Delete the mirror port of ${one.switch}`} onClick={() => ask(forget(POINT, one.switch))}>Delete…</button></span>}
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
      {held.value?.length ? <p class="pad quiet small">A switch without one cannot be captured from.</p> : null}
      {form}
    </section>
  );
}

export function Captures() {
  const all = query.value.get("all") === "yes";
  const source = captures(all);
  const held = useSource(source);
  const [dialog, ask] = useDialog();
  const inState = (list: Capture[], ...states: Capture["state"][]) => list.filter((one) => states.includes(one.state)).length;
  return (
    <>
      <ListScreen
        flows title="Captures" what="captures" table="captures" filter="waiting gpu-0003" about="packets, with the consent of their tenant" held={held} again={() => void source.reload()}
        columns={COLUMNS} keyOf={(row) => String(row.id)} hrefOf={(row) => capturesHref(row.id)}
        numbers={(list) => [
          {value: inState(list, "waiting"), label: "wait for consent", tone: "wait"},
          {value: inState(list, "approved", "listening", "running", "ending"), label: "under way", tone: "work"},
          {value: list.reduce((sum, one) => sum + one.packets, 0), label: `packets in ${all ? "all" : "these"}`},
          {value: bytes(list.reduce((sum, one) => sum + (one.files === "kept" ? one.stored_bytes : 0), 0)), label: "kept"},
        ]}
        bar={<OpenOrAll label="Which captures" open="Under way" all={all} />}
        panel={(row) => <Chosen one={row} ask={ask} />}
        after={<><Grants ask={ask} />{isSite.value && <Points ask={ask} />}</>}
        none={<Empty title={all ? "No capture yet" : "No capture is under way"}>{may("capture") && <p>A capture begins at a pair or a flow of <a href="/drill">{isSite.value ? "the drill" : "your traffic"}</a>.</p>}</Empty>}
        line={`haasctl capture list${all ? " --all" : ""}`}
      />
      {dialog}
    </>
  );
}
