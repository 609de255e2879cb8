// Certificates: the proofs that drives were erased before a node was given out again, each signed and chained to the one before.
import {read, readAll} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import type {Certificate} from "../../api/types";
import {Command} from "../../part/command";
import {ListScreen} from "../../part/list";
import {Mark, type Shape} from "../../part/mark";
import {Facts, Panel} from "../../part/panel";
import {Empty} from "../../part/screen";
import type {Column} from "../../part/table";
import {bytes, when} from "../../part/time";

interface Drive {
  serial?: string;
  model?: string;
  size_bytes?: number;
  method?: string;
  verdict?: string;
}
interface Body {
  drives?: Drive[];
  firmware?: unknown;
}

function bodyOf(one: Certificate): Body {
  try {
    return JSON.parse(one.body) as Body;
  } catch {
    return {};
  }
}

const SHAPES: Record<string, Shape> = {erased: "ok", skipped: "wait", failed: "fail"};
const drivesOf = (one: Certificate) => bodyOf(one).drives ?? [];

const COLUMNS: Column<Certificate>[] = [
  {name: "id", title: "Certificate", value: (row) => row.id, width: "110px", number: true, narrow: "state"},
  {name: "node", title: "Node", value: (row) => row.node, mono: true, width: "minmax(120px, 1fr)", narrow: "title"},
  {name: "drives", title: "Drives", value: (row) => drivesOf(row).length, width: "90px", number: true, narrow: "sub"},
  {name: "deployment", title: "Deployment", value: (row) => row.deployment, width: "110px", number: true, wide: true},
  {name: "hash", title: "Hash", value: (row) => row.hash, cell: (row) => <span class="mono">{row.hash.slice(0, 16)}</span>, width: "170px", wide: true},
  {name: "at", title: "Signed", value: (row) => row.created_at, cell: (row) => <>{when(row.created_at)}</>, width: "150px", number: true},
];

const certificates = () =>
  sourceOf<Certificate[]>("certificates", () => ({
    load: async () => (await readAll("/api/v1/certificates", {})).reverse(),
    touches: (event) => event.kind === "deployment.done",
    every: () => 60000,
  }));
const keys = () => sourceOf("certificate keys", () => ({load: () => read("/api/v1/keys/certificate"), every: () => 300000}));

function Chosen({one}: {one: Certificate}) {
  const drives = drivesOf(one);
  const key = useSource(keys()).value?.items.find((row) => row.public_key === one.public_key);
  return (
    <Panel title={`Certificate ${one.id}`}>
      <Facts
        rows={[
          ["Node", <a class="mono" href={`/nodes/${encodeURIComponent(one.node)}`}>{one.node}</a>], ["Signed", when(one.created_at)], ["Deployment", String(one.deployment)],
          ["Hash", <span class="mono small">{one.hash}</span>], ["Follows", <span class="mono small">{one.previous_hash}</span>],
          ["Key", <span class="mono small">{one.public_key}</span>], ["Key since", key ? `${when(key.since)}${key.until ? `, until ${when(key.until)}` : ""}` : "not known to this site"],
        ]}
      />
      {drives.length > 0 && (
        <table class="plain tight">
          <thead><tr><th>Drive</th><th>Method</th><th>Verdict</th></tr></thead>
          <tbody>
            {drives.map((row) => <tr key={row.serial}><td><span class="mono">{row.serial}</span><br /><span class="quiet small">{row.model} {row.size_bytes ? bytes(row.size_bytes) : ""}</span></td><td>{row.method}</td><td><Mark shape={SHAPES[row.verdict ?? ""] ?? "idle"}>{row.verdict}</Mark></td></tr>)}
          </tbody>
        </table>
      )}
      <Command line={`haasctl certificate show ${one.id}`} />
      <Command label="verify" line="haasctl certificate verify" />
    </Panel>
  );
}

export function Certificates() {
  const source = certificates();
  const held = useSource(source);
  return (
    <ListScreen
      title="Certificates" what="certificates" table="certificates" filter="gpu-0003" held={held} again={() => void source.reload()} columns={COLUMNS} keyOf={(row) => String(row.id)} about="proofs that drives were erased"
      numbers={(list) => [
        {value: list.length, label: "certificates"},
        {value: new Set(list.map((one) => one.node)).size, label: "nodes"},
        {value: list.reduce((sum, one) => sum + drivesOf(one).length, 0), label: "drives erased"},
        {value: list[0] ? when(list[0].created_at) : "–", label: "the last one"},
      ]}
      panel={(row) => <Chosen key={row.id} one={row} />}
      none={<Empty title="No certificate"><p>One is made whenever the drives of a node were erased, before it is free again.</p></Empty>}
      line="haasctl certificate verify"
    />
  );
}
