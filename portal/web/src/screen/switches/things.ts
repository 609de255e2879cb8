// Switches and fabrics as things that are made, changed and forgotten (part/thing.tsx).
import type {SamplingPage, Switch} from "../../api/types";
import {quote} from "../../part/command";
import type {Thing, ThingField} from "../../part/thing";
import {fabrics, oneSwitch, samplings, switches} from "./sources";

const again = (name?: string) => () => {
  void switches().reload();
  if (name) void oneSwitch(name).reload();
};

const SECRETS: ThingField = {title: "Secrets, NAME=VALUE in a line each", as: "secrets", hint: "ssh_password, snmp_community, snmp_auth_secret, snmp_priv_secret. Nobody can read them back."};
const USERS: Record<string, ThingField> = {ssh_user: {title: "SSH user", max: 32, inside: "credentials"}, snmp_user: {title: "SNMPv3 user", max: 32, inside: "credentials"}};

/** How one is reached: it is declared when it was not. */
export const reached = (name?: string): Thing => ({
  noun: "switch", put: "PUT /api/v1/switches/{switch}/management", gone: "DELETE /api/v1/switches/{switch}/management", line: "switch add", goneLine: "switch release", again: again(name),
  ...(name ? {title: `How ${name} is reached`} : {}), of: (answer: Switch) => answer.management as Record<string, unknown> | null,
  fields: {
    fabric: {title: "Fabric", hint: "Empty: the only one"},
    role: {title: "Role", words: [["leaf", "leaf"], ["spine", "spine"]], start: "leaf"},
    address: {title: "Address of its management", max: 45},
    managed: {title: "Changed by us", as: "yes", start: "yes", hint: "no: it is read, never changed"},
    poll_s: {title: "Read each so many seconds", as: "seconds", max: 5, option: "--poll"},
    ...USERS,
    host_key: {title: "SSH host key", inside: "credentials", hint: "SHA256:..., as OpenSSH prints it"},
    secrets: {...SECRETS, hint: `Needed again with another address or other credentials: ${SECRETS.hint}`},
  },
});

/** Its management ends; its rules of addresses stay. */
export const released = (name: string): Thing => ({...reached(name), noun: "management of", lost: "It is read and changed no more. What is set on it stays, and so do its rules of addresses. It is refused while a port of it is in a network."});

/** New secrets, that the switch has beside the old ones: they count when it took them. */
export const rotated = (name: string): Thing => ({
  noun: "switch", put: "POST /api/v1/switches/{switch}/rotation", line: "rotation switch", asked: true, title: `New secrets of ${name}`, button: "Prove them", again: again(name),
  note: "Make the second account on the switch first. peregrined logs in by it; when that works it counts, else the present secrets stay.",
  fields: {...USERS, secrets: SECRETS, keep_s: {title: "Keep the old ones, seconds", as: "seconds", max: 8, start: "86400", option: "--keep"}},
});

/** Which address a port gives. */
export const addressed = (name?: string): Thing => ({
  noun: "switch", put: "PUT /api/v1/switches/{switch}", gone: "DELETE /api/v1/switches/{switch}", line: "switch set", goneLine: "switch delete", again: again(name),
  ...(name ? {title: `Which addresses ports of ${name} give`} : {}),
  lost: "It is forgotten with the declarations of its ports. It is refused while a port of it is in a network.",
  fields: {
    base: {title: "Port n gives this address + n", max: 15, hint: "Empty: a port gives only its own"},
    ports: {title: "The number in the name of a port", hint: "Ethernet1/{port}"},
    port_low: {title: "First port", as: "number", max: 5, option: "--low"},
    port_high: {title: "Last port", as: "number", max: 5, option: "--high"},
    moved: {title: "A node moved here", words: [["answer", "is answered"], ["silence", "gets silence"]]},
    swapped: {title: "A new NIC in a known node", words: [["answer", "is answered"], ["silence", "gets silence"]]},
  },
});

const SAMPLED: Record<string, ThingField> = {
  enabled: {title: "Samples", as: "yes", start: "yes", option: ["", "--off"], hint: "no: our set-up is removed from the switch"},
  collector: {title: "Collector", max: 45, hint: "An address at which peregrine-flowd listens"},
  port: {title: "Its UDP port", as: "number", max: 5},
  rate: {title: "One frame of so many", as: "number", max: 8, hint: "0: by the speed of each port"},
  header: {title: "Bytes of each frame", as: "number", max: 3},
  poll_s: {title: "Counters each so many seconds", as: "seconds", max: 4, option: "--poll"},
};

/** What a switch samples, or all of a fabric that say nothing of their own. */
export function sampled(of: "switch" | "fabric", note?: string): Thing {
  return {
    noun: "sampling of", put: of === "switch" ? "PUT /api/v1/switches/{switch}/sampling" : "PUT /api/v1/fabrics/{fabric}/sampling", line: `sampling set --${of}`, fields: SAMPLED, subject: of, note, again: () => void samplings().reload(),
    of: ({items}: SamplingPage) => (of === "switch" ? items[0] : items.find((one) => one.setting?.of === "fabric"))?.setting as Record<string, unknown> | null | undefined,
  };
}

const range = (mine: Record<string, string>) => `--vlans ${quote(`${mine["vlan_low"]}-${mine["vlan_high"]}`)}`;
const parking = ({parking_vlan: low, parking_count: many}: Record<string, string>) => `--parking ${quote(`${low}${many ? `-${Number(low) + Number(many) - 1}` : ""}`)}`;

export const FABRIC: Thing = {
  noun: "fabric", put: "PUT /api/v1/fabrics/{fabric}", gone: "DELETE /api/v1/fabrics/{fabric}", line: "fabric create", goneLine: "fabric delete", again: () => void fabrics().reload(),
  lost: "It is refused while it has switches.",
  note: "Its VLANs are ours; no other is ever touched.",
  fields: {
    vlan_low: {title: "First VLAN of ours", as: "number", max: 4, option: range},
    vlan_high: {title: "Last VLAN of ours", as: "number", max: 4, option: range},
    parking_vlan: {title: "First VLAN of free ports", as: "number", max: 4, option: parking, hint: "Outside of ours"},
    parking_count: {title: "So many from there", as: "number", max: 4, option: parking, hint: "Free ports of one switch do not meet"},
    quarantine_s: {title: "A VLAN rests so many seconds", as: "seconds", max: 5, option: "--quarantine", hint: "Before it is used again"},
    repair: {title: "A foreign change", words: [["repair", "is repaired"], ["report", "is reported"]], option: "--foreign", start: "repair"},
  },
};

