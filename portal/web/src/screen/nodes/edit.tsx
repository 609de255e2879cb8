// Where a node stands and what it is.
import {write} from "../../api/client";
import {node as nodeSource, nodes as nodesSource} from "../../api/sources";
import type {Node} from "../../api/types";
import {Edit as Form, type Values} from "../../part/edit";

const FIELDS = {class: {title: "Class"}, rack: {title: "Rack"}, unit: {title: "Unit", as: "number" as const}, serial: {title: "Serial"}};

const valuesOf = (node: Node): Values => ({class: node.class ?? "", rack: node.rack ?? "", unit: node.unit === null ? "" : String(node.unit), serial: node.serial ?? ""});
const patchOf = (changed: Values) => Object.fromEntries(Object.entries(changed).map(([name, value]) => [name, value === "" ? null : name === "unit" ? Number(value) : value]));

/** An empty cell of a sheet leaves the value as it is. */
function importLine(name: string, patch: Values): string {
  const changed = Object.keys(patch);
  return `printf '${[`name,${changed.join(",") || "class"}`, `${name},${changed.map((one) => patch[one] ?? "").join(",")}`, ""].join("\\n")}' | haasctl node import -`;
}

export function Edit({node, close}: {node: Node; close: () => void}) {
  return (
    <Form
      title={<>Edit <span class="mono">{node.name}</span></>} what={`Node ${node.name}`} by={{kind: "node.updated", subject_kind: "node", subject: node.name}} fields={FIELDS} of={node} valuesOf={valuesOf} close={close} line={(changed) => importLine(node.name, changed)}
      save={async (changed, base) => {
        await write("PATCH /api/v1/nodes/{node}", {place: {node: node.name}, body: patchOf(changed), version: base.version});
        void nodesSource().reload();
        void nodeSource(node.name).reload();
      }}
    />
  );
}
