// Rotations: secrets of BMCs, switches and daemons that are exchanged for new ones. Both are kept until the new one has proven itself.
import {useSource} from "../../api/source";
import {may} from "../../app/session";
import {Command} from "../../part/command";
import {ListScreen} from "../../part/list";
import {Mark, type Shape} from "../../part/mark";
import {Facts, Panel, Why} from "../../part/panel";
import {Empty} from "../../part/screen";
import type {Column} from "../../part/table";
import {useThing} from "../../part/thing";
import {when} from "../../part/time";
import {rotations, type Row} from "./sources";
import {KEY, PASSWORDS} from "./things";

const SHAPES: Record<string, Shape> = {begun: "work", trial: "work", sealing: "work", known: "work", both: "ok", done: "ok", failed: "fail"};
const MEANS: Record<string, string> = {
  begun: "the new secret is made, and perhaps set", trial: "the new secret counts, and was not used yet", sealing: "all that was sealed is sealed anew", known: "the new key is believed, and signs nothing yet",
  both: "the new one is in use, the old one is kept", done: "the old one is gone", failed: "both are kept: a person decides",
};

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
  const [form, edit] = useThing();
  return (
    <>
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
      actions={may("rotation") && <><button type="button" class="button" onClick={() => edit(PASSWORDS)}>New BMC passwords</button><button type="button" class="button" onClick={() => edit(KEY)}>New key</button></>}
    />
    {form}
    </>
  );
}
