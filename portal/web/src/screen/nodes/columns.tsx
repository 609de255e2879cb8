// The columns of the fleet: named as the API's list has them, so that a filter chooses the same rows here, there and in haasctl.
import type {Node} from "../../api/types";
import {quote} from "../../part/command";
import {Mark, shapeOf} from "../../part/mark";
import type {Column} from "../../part/table";
import {since, when} from "../../part/time";

/** The step that works on it, with its share. */
export function stepOf(node: Node): string | null {
  const one = node.deployment;
  if (!one || ["done", "cancelled", "cleared"].includes(one.state)) return null;
  return `${one.step || one.plan}${one.percent === null ? "" : ` ${one.percent} %`}${one.state === "failed" ? " failed" : ""}`;
}

export const portOf = (node: Node) => (node.location ? `${node.location.switch}:${node.location.port}` : null);

const extra = (name: string, title: string, value: Column<Node>["value"], width = "120px"): Column<Node> => ({name, title, value, width, extra: true});

export const NODE_COLUMNS: Column<Node>[] = [
  {name: "name", title: "Node", value: (row) => row.name, cell: (row) => <a class="mono" href={`/nodes/${encodeURIComponent(row.name)}`}>{row.name}</a>, width: "minmax(100px, 1.2fr)", narrow: "title", mono: true},
  {name: "state", title: "State", value: (row) => row.state, cell: (row) => <Mark shape={shapeOf.node(row.state)}>{row.state}</Mark>, width: "112px", narrow: "state"},
  {name: "tenant", title: "Tenant / PDCI", value: (row) => row.tenant, cell: (row) => (row.tenant ? `${row.tenant}${row.pdci ? ` / ${row.pdci}` : ""}` : "–"), width: "minmax(110px, 1.2fr)", narrow: "sub"},
  {name: "step", title: "Step", value: (row) => row.deployment?.step || null, cell: (row) => stepOf(row) ?? "–", width: "minmax(128px, 1.1fr)", narrow: "sub"},
  {
    name: "label", title: "Labels", value: (row) => row.health?.labels.join(", ") ?? null, width: "minmax(96px, 1fr)",
    cell: (row) => (row.health ? <Mark shape={shapeOf.severity(row.health.severity)}>{row.health.labels.join(", ")}</Mark> : <span class="quiet">–</span>),
  },
  {name: "class", title: "Class", wide: true, value: (row) => row.class || null, width: "minmax(64px, 0.6fr)", narrow: "sub"},
  {name: "rack", title: "Rack", wide: true, value: (row) => row.rack || null, cell: (row) => (row.rack ? `${row.rack}${row.unit === null ? "" : `:${row.unit}`}` : "–"), width: "84px"},
  {name: "port", title: "Port", wide: true, value: portOf, width: "minmax(92px, 1fr)", mono: true},
  {name: "power", title: "Power", wide: true, value: (row) => row.power, width: "78px"},
  {name: "address", title: "Address", value: (row) => row.address, width: "120px", mono: true, extra: true},
  {name: "serial", title: "Serial", value: (row) => row.serial || null, width: "120px", mono: true, extra: true},
  {name: "firmware", title: "Firmware", value: (row) => row.firmware, width: "88px", extra: true},
  extra("pdci", "PDCI", (row) => row.pdci),
  extra("unit", "Unit", (row) => row.unit, "64px"),
  extra("deployment", "Deployment", (row) => row.deployment?.state ?? null),
  extra("percent", "Percent", (row) => row.deployment?.percent ?? null, "72px"),
  extra("uuid", "UUID", (row) => row.uuid, "290px"),
  extra("arch", "Architecture", (row) => row.arch, "96px"),
  extra("secure_boot", "Secure boot", (row) => row.secure_boot, "96px"),
  extra("attested", "Attested", (row) => row.attestation?.attested ?? null, "84px"),
  extra("dirty", "Not erased", (row) => row.dirty, "90px"),
  extra("reason", "Reason", (row) => row.reason, "minmax(120px, 1fr)"),
  extra("problem", "BMC's problem", (row) => row.bmc?.problem?.message ?? null, "minmax(120px, 1fr)"),
  extra("bmc_driver", "BMC driver", (row) => row.bmc?.driver ?? null, "90px"),
  extra("bmc_address", "BMC address", (row) => row.bmc?.address ?? null),
  {name: "created_at", title: "Known since", value: (row) => row.created_at, cell: (row) => when(row.created_at), width: "150px", number: true, extra: true},
  {name: "updated_at", title: "Changed", value: (row) => row.updated_at, cell: (row) => when(row.updated_at), width: "150px", number: true, extra: true},
  {name: "since", title: "In state", value: (row) => row.state_since, cell: (row) => <span title={when(row.state_since)}>{since(row.state_since)}</span>, width: "92px", number: true},
];

/** What a tenant's list does not have. */
export const SITE_ONLY = ["port", "rack", "unit", "reason", "problem", "bmc_driver", "bmc_address"];

/** By what the fleet can be grouped. */
export const GROUPS = ["state", "rack", "tenant", "class"];

export function listLine(words: string, sort: string): string {
  return ["haasctl node list", words.trim() && `--where ${quote(words.trim())}`, sort && `--sort=${quote(sort)}`].filter(Boolean).join(" ");
}
