// Rotations: secrets of BMCs, switches and daemons that are exchanged for new ones. Both are kept until the new one has proven itself.
import {readAll} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import type {KeyRotation, Rotation} from "../../api/types";
import {Command} from "../../part/command";
import {ListScreen} from "../../part/list";
import {Mark, type Shape} from "../../part/mark";
import {Facts, Panel, Why} from "../../part/panel";
import {Empty} from "../../part/screen";
import type {Column} from "../../part/table";
import {when} from "../../part/time";

const SHAPES: Record<string, Shape> = {begun: "work", trial: "work", sealing: "work", known: "work", both: "ok", done: "ok", failed: "fail"};
const MEANS: Record<string, string> = {
  begun: "the new secret is made, and perhaps set", trial: "the new secret counts, and was not used yet", sealing: "all that was sealed is sealed anew", known: "the new key is believed, and signs nothing yet",
  both: "the new one is in use, the old one is kept", done: "the old one is gone", failed: "both are kept: a person decides",
};

interface Row {
  key: string;
  what: string;
  of: string;
  state: string;
  actor: string;
  begun_at: string;
  keep_until: string | null;
  ended_at: string | null;
  problem: Rotation["problem"];
  more: string | null;
  line: string;
}

const ofSecret = (one: Rotation): Row => ({
  key: `s${one.id}`, what: one.node ? "password of a BMC" : "secrets of a switch", of: one.node ?? one.switch ?? "", state: one.state, actor: one.actor, begun_at: one.begun_at, keep_until: one.keep_until,
  ended_at: one.ended_at, problem: one.problem, more: one.proven_at ? `proven ${when(one.proven_at)}` : null, line: one.node ? `haasctl rotation list --node ${one.node} --all` : "haasctl rotation list --all",
});
const ofKey = (one: KeyRotation): Row => ({
  key: `k${one.id}`, what: `${one.key} key of a daemon`, of: one.storage ? `${one.daemon} ${one.storage}` : one.daemon, state: one.state, actor: one.actor, begun_at: one.begun_at, keep_until: one.keep_until, ended_at: one.ended_at, problem: one.problem,
  more: one.key === "seal" ? `${one.resealed} secrets sealed anew, ${one.lost} that no key opens` : null, line: "haasctl rotation keys",
});

const rotations = () =>
  sourceOf<Row[]>("rotations", () => ({
    load: async () => {
      const [secrets, keys] = await Promise.all([readAll("/api/v1/rotations", {}), readAll("/api/v1/rotations/keys", {})]);
      return [...secrets.map(ofSecret), ...keys.map(ofKey)].sort((a, b) => b.begun_at.localeCompare(a.begun_at));
    },
    touches: (event) => event.kind.includes("rotat") || event.kind.includes("password"),
    every: (value) => (value?.some((one) => !one.ended_at) ? 5000 : 60000),
  }));

const COLUMNS: Column<Row>[] = [
  {name: "of", title: "Of", value: (row) => row.of, mono: true, width: "minmax(120px, 1fr)", narrow: "title"},
  {name: "what", title: "Secret", value: (row) => row.what, width: "minmax(150px, 1fr)", narrow: "sub"},
  {name: "state", title: "State", value: (row) => row.state, cell: (row) => <Mark shape={SHAPES[row.state] ?? "idle"}>{row.state}</Mark>, width: "110px", narrow: "state"},
  {name: "why", title: "Why", value: (row) => row.problem?.message ?? MEANS[row.state] ?? "", cell: (row) => <span class="quiet">{row.problem?.message ?? MEANS[row.state]}</span>, width: "minmax(200px, 2fr)", wide: true},
  {name: "begun", title: "Begun", value: (row) => row.begun_at, cell: (row) => <>{when(row.begun_at)}</>, width: "150px", number: true},
  {name: "kept", title: "Old one until", value: (row) => row.keep_until, cell: (row) => <>{row.ended_at ? "" : row.keep_until ? when(row.keep_until) : "–"}</>, width: "150px", number: true, wide: true},
];

export function Rotations() {
  const source = rotations();
  const held = useSource(source);
  return (
    <ListScreen
      title="Rotations" what="rotations" table="rotations" filter="failed leaf1" held={held} again={() => void source.reload()} columns={COLUMNS} keyOf={(row) => row.key} about="secrets exchanged for new ones"
      numbers={(list) => [
        {value: list.filter((one) => !one.ended_at).length, label: "under way", tone: "work"},
        {value: list.filter((one) => one.state === "failed").length, label: "failed", tone: "fail"},
        {value: list.filter((one) => one.state === "done").length, label: "done", tone: "ok"},
      ]}
      panel={(row) => (
        <Panel title={<span class="mono">{row.of}</span>} key={row.key}>
          <Why tone={row.state === "failed" ? "fail" : "wait"} said={row.problem} />
          <Facts rows={[["Secret", row.what], ["State", <Mark shape={SHAPES[row.state] ?? "idle"}>{row.state}</Mark>], ["That is", MEANS[row.state]], ["Begun", `${when(row.begun_at)} by ${row.actor.replace(/^account /, "")}`], ["More", row.more], ["Old one until", row.keep_until && when(row.keep_until)], ["Ended", row.ended_at && when(row.ended_at)]]} />
          <Command line={row.line} />
        </Panel>
      )}
      none={<Empty title="No secret was exchanged"><p class="mono">haasctl rotation bmc n1</p></Empty>}
      line="haasctl rotation list --all"
    />
  );
}
