// All switches: do they answer, are they well, do they sample.
import {useMemo} from "preact/hooks";
import {useSource} from "../../api/source";
import type {Sampling, Switch, SwitchHealth} from "../../api/types";
import {query, withWords} from "../../app/route";
import {may} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {Mark, type Shape} from "../../part/mark";
import {Facts, Panel, Why} from "../../part/panel";
import {Empty, Head, Numbers, Shown} from "../../part/screen";
import {Table, useColumns, useShownRows, type Column} from "../../part/table";
import {useThing} from "../../part/thing";
import {count, when} from "../../part/time";
import {SwitchActions} from "./actions";
import {samplings, switches as switchesSource, switchHealth} from "./sources";
import {reached} from "./things";

export interface Row {
  name: string;
  of: Switch;
  health?: SwitchHealth | undefined;
  sampling?: Sampling | undefined;
}

const STATE: Record<string, Shape> = {reachable: "ok", silent: "wait", new: "idle", unmanaged: "idle"};
const SAMPLES: Record<string, Shape> = {applied: "ok", none: "idle", new: "work", off: "idle", drift: "wait", foreign: "wait", refused: "fail", silent: "wait"};

export function StateMark({state}: {state: string | undefined}) {
  return <Mark shape={STATE[state ?? ""] ?? "idle"}>{state ?? "unknown"}</Mark>;
}

export function SamplingMark({sampling}: {sampling: Sampling | undefined}) {
  return sampling ? <Mark shape={SAMPLES[sampling.state] ?? "idle"}>{sampling.state}</Mark> : <span class="quiet">–</span>;
}

export const hrefOf = (name: string) => `/switches/${encodeURIComponent(name)}`;

const COLUMNS: Column<Row>[] = [
  {name: "switch", title: "Switch", value: (row) => row.name, cell: (row) => <a class="mono" href={hrefOf(row.name)}>{row.name}</a>, width: "minmax(110px, 1.3fr)", mono: true, narrow: "title"},
  {name: "state", title: "State", value: (row) => row.of.state ?? null, cell: (row) => <StateMark state={row.of.state} />, width: "minmax(110px, 1fr)", narrow: "state"},
  {name: "fabric", title: "Fabric", value: (row) => row.of.management?.fabric ?? null, width: "minmax(70px, 0.6fr)", narrow: "sub"},
  {name: "role", title: "Role", value: (row) => row.of.management?.role ?? null, width: "minmax(64px, 0.5fr)", narrow: "sub"},
  {name: "address", title: "Address", value: (row) => row.of.management?.address ?? null, width: "minmax(110px, 1fr)", mono: true, wide: true},
  {name: "family", title: "Family", value: (row) => row.of.observed?.family ?? null, width: "minmax(80px, 0.8fr)", extra: true},
  {name: "ports", title: "Ports up", value: (row) => row.of.observed?.up ?? null, cell: (row) => (row.of.observed ? `${row.of.observed.up} of ${row.of.observed.ports}` : "–"), width: "minmax(88px, 0.7fr)", number: true, wide: true},
  {name: "errors", title: "Errors, 1 h", value: (row) => row.health?.errors ?? null, width: "minmax(84px, 0.6fr)", number: true},
  {name: "discards", title: "Discards, 1 h", value: (row) => row.health?.discards ?? null, width: "minmax(100px, 0.7fr)", number: true, wide: true},
  {name: "blocked", title: "Blocked", value: (row) => row.health?.blocked ?? null, width: "minmax(76px, 0.5fr)", number: true, extra: true},
  {name: "sensors", title: "Sensors bad", value: (row) => row.health?.sensors_bad ?? null, width: "minmax(92px, 0.6fr)", number: true, wide: true},
  {name: "sampling", title: "Samples", value: (row) => row.sampling?.state ?? null, cell: (row) => <SamplingMark sampling={row.sampling} />, width: "minmax(92px, 0.8fr)"},
];

function ChosenSwitch({row, ask}: {row: Row; ask: ReturnType<typeof useDialog>[1]}) {
  const {of, health} = row;
  return (
    <Panel title={<a class="mono" href={hrefOf(row.name)}>{row.name}</a>}>
      <Why tone="wait" said={of.observed?.problem} />
      {of.alerts?.map((alert) => <Why key={alert.kind} tone={alert.severity === "critical" ? "fail" : "wait"} said={{message: alert.message}} />)}
      <Facts
        rows={[
          ["State", <StateMark state={of.state} />],
          ["Address", of.management && <span class="mono">{of.management.address}</span>],
          ["Role", of.management && `${of.management.role} of ${of.management.fabric}${of.management.managed ? "" : ", read only"}`],
          ["Last answer", health?.heard_at ? `${when(health.heard_at)}, in ${health.response_ms} ms` : null],
          ["Last reading", of.observed?.read_at ? when(of.observed.read_at) : null],
          ["Ports", of.observed && `${of.observed.up} of ${of.observed.ports} up, ${of.observed.uplinks} uplinks`],
          ["Samples", row.sampling && <SamplingMark sampling={row.sampling} />],
        ]}
      />
      <SwitchActions name={row.name} ask={ask} />
      <Command line={`haasctl switch describe ${quote(row.name)}`} />
    </Panel>
  );
}

export function Switches() {
  const source = switchesSource();
  const held = useSource(source);
  const health = useSource(switchHealth()).value;
  const sampled = useSource(samplings()).value;
  const [dialog, ask] = useDialog();
  const [form, edit] = useThing();
  const [shown, menu] = useColumns("switches", COLUMNS);
  const list = useMemo(() => {
    const healthBy = new Map(health?.map((one) => [one.switch, one]));
    const sampledBy = new Map(sampled?.map((one) => [one.switch, one]));
    return (held.value ?? []).map((of): Row => ({name: of.name, of, health: healthBy.get(of.name), sampling: sampledBy.get(of.name)}));
  }, [held.value, health, sampled]);
  const rows = useShownRows(list, COLUMNS);
  const at = query.value.get("at");
  const chosen = list.find((row) => row.name === at);
  const managed = list.filter((row) => row.of.management);
  const number = (fn: (row: Row) => boolean) => list.filter(fn).length;
  return (
    <div class={`screen fixed ${held.refusal ? "stale" : ""}`}>
      <Head title="Switches" about={held.value && <><b>{count(list.length)}</b> switches, {managed.length} managed</>} held={held} filter="silent leaf" />
      <Shown held={held} what="switches" again={() => void source.reload()}>
        {() => (
          <Numbers
            rows={[
              {value: number((row) => row.of.state === "silent"), label: "silent", tone: "wait", href: withWords({q: "state:silent"})},
              {value: number((row) => (row.health?.errors ?? 0) > 0), label: "with errors in the last hour", tone: "fail"},
              {value: number((row) => (row.health?.sensors_bad ?? 0) > 0), label: "with a bad sensor", tone: "wait"},
              {value: number((row) => (row.health?.members_out ?? 0) > 0), label: "with an idle aggregate member", tone: "wait"},
              {value: number((row) => row.sampling?.state === "applied"), label: "send samples", tone: "ok"},
            ]}
          />
        )}
      </Shown>
      {held.value && (
        <>
          <div class="bar"><div class="end">{may("switch_edit") && <button type="button" class="button" onClick={() => edit(reached())}>New switch</button>}{menu}</div></div>
          <div class={`body ${chosen ? "split" : ""}`}>
            <Table
              label="Switches" beside={!!chosen} rows={rows} columns={COLUMNS} shown={shown} keyOf={(row) => row.name} hrefOf={(row) => hrefOf(row.name)}
              none={query.value.get("q") ? <Empty title="No switch has these words"><a href={withWords({q: undefined})}>Show all</a></Empty>
                : <Empty title="No switch is known yet"><p class="mono">haasctl switch add leaf1 --fabric main --address 10.0.0.1</p></Empty>}
            />
            {chosen && <ChosenSwitch row={chosen} ask={ask} />}
          </div>
          <Command line="haasctl switch list" />
        </>
      )}
      {dialog}{form}
    </div>
  );
}
