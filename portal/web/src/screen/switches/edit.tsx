// How a switch is reached, and what it samples.
import {readVersion, Refusal, write} from "../../api/client";
import type {SamplingPage, Switch} from "../../api/types";
import {quote} from "../../part/command";
import {Edit, Fresh, type EditField, type Values} from "../../part/edit";
import {oneSwitch, samplings, switches} from "./sources";

const YES_NO: readonly [string, string][] = [["yes", "yes"], ["no", "no"]];
const CREDENTIALS = ["ssh_user", "host_key", "snmp_user"];

const REACHED: Record<string, EditField> = {
  address: {title: "Address of its management", max: 45},
  role: {title: "Role", words: [["leaf", "leaf"], ["spine", "spine"]]},
  managed: {title: "Changed by us", words: YES_NO, hint: "no: it is read, never changed"},
  poll_s: {title: "Read each so many seconds", number: true, max: 5},
  ssh_user: {title: "SSH user", max: 32},
  host_key: {title: "SSH host key", hint: "SHA256:..., as OpenSSH prints it"},
  snmp_user: {title: "SNMPv3 user", max: 32},
  secrets: {title: "Secrets, NAME=VALUE in a line each", secret: true, hint: "Needed again with another address or other credentials: ssh_password, snmp_community, snmp_auth_secret, snmp_priv_secret. Nobody can read them back."},
};

interface Read<T> {
  value: T;
  version: number;
}

function reachedOf({value: {management}}: Read<Switch>): Values {
  const text = (name: string) => String(management?.credentials[name] ?? "");
  return {
    address: management?.address ?? "", role: management?.role ?? "leaf", managed: management?.managed === false ? "no" : "yes", poll_s: String(management?.poll_s ?? ""),
    ...Object.fromEntries(CREDENTIALS.map((name) => [name, text(name)])), secrets: "",
  };
}

function secretsOf(text: string): Record<string, string> {
  return Object.fromEntries(text.split("\n").filter((line) => line.trim()).map((line, at) => {
    const found = /^\s*(\w+)=(.*)$/.exec(line);
    if (!found) throw new Refusal(422, {title: `line ${at + 1} of the secrets is not NAME=VALUE`}); // its text is a secret
    return [found[1]!, found[2]!];
  }));
}

/** Members of a PUT are left as they are where they are not named; credentials and secrets go as a whole. */
function bodyOf(changed: Values, {management}: Switch) {
  const {secrets, managed, poll_s, address, role} = changed;
  const named = CREDENTIALS.filter((name) => name in changed);
  const credentials = {...management?.credentials, ...Object.fromEntries(named.map((name) => [name, changed[name]]))};
  for (const name of named) if (changed[name] === "") delete credentials[name];
  return {
    ...(address ? {address} : {}), ...(role ? {role: role as "leaf" | "spine"} : {}), ...(managed ? {managed: managed === "yes"} : {}), ...(poll_s ? {poll_s: Number(poll_s)} : {}),
    ...(named.length ? {credentials} : {}), ...(secrets ? {secrets: secretsOf(secrets)} : {}),
  };
}

const OPTIONS: Record<string, string> = {poll_s: "poll", ssh_user: "ssh-user", host_key: "host-key", snmp_user: "snmp-user"};
const lineOf = (name: string, changed: Values) =>
  `haasctl switch add ${quote(name)}${Object.entries(changed).map(([word, value]) => (word === "secrets" ? " --secrets FILE" : ` --${OPTIONS[word] ?? word} ${quote(word === "poll_s" ? `${value}s` : value || "none")}`)).join("")}`;

export function EditSwitch({name, close}: {name: string; close: () => void}) {
  const place = {switch: name};
  const now = () => readVersion("/api/v1/switches/{switch}", place);
  return (
    <Fresh read={now}>
      {(of) => (
        <Edit
          title={<>How <span class="mono">{name}</span> is reached</>} what={`The management of ${name}`} by={{kind: "switch.changed", subject_kind: "switch", subject: name}} fields={REACHED} of={of} valuesOf={reachedOf} close={close} now={now} line={(changed) => lineOf(name, changed)}
          save={async (changed, {value, version}) => {
            await write("PUT /api/v1/switches/{switch}/management", {place, body: bodyOf(changed, value), version});
            void switches().reload();
            void oneSwitch(name).reload();
          }}
        />
      )}
    </Fresh>
  );
}

const SAMPLED: Record<string, EditField> = {
  enabled: {title: "Samples", words: YES_NO, hint: "no: our set-up is removed from the switch"},
  collector: {title: "Collector", max: 45, hint: "An address at which peregrine-flowd listens"},
  port: {title: "Its UDP port", number: true, max: 5},
  rate: {title: "One frame of so many", number: true, max: 8, hint: "0: by the speed of each port"},
  header: {title: "Bytes of each frame", number: true, max: 3},
  poll_s: {title: "Counters each so many seconds", number: true, max: 4},
};
const SAMPLE_OPTIONS: Record<string, string> = {poll_s: "poll"};

function sampledOf({value}: Read<SamplingPage>): Values {
  const setting = value.items[0]?.setting;
  const text = (value: number | undefined) => (value === undefined ? "" : String(value));
  return {enabled: setting?.enabled === false ? "no" : "yes", collector: setting?.collector ?? "", port: text(setting?.port), rate: text(setting?.rate), header: text(setting?.header), poll_s: text(setting?.poll_s)};
}

const sampleLine = (name: string, changed: Values) =>
  `haasctl sampling set --switch ${quote(name)}${Object.entries(changed).map(([word, value]) => (word === "enabled" ? (value === "no" ? " --off" : "") : ` --${SAMPLE_OPTIONS[word] ?? word} ${quote(word === "poll_s" ? `${value}s` : value)}`)).join("")}`;

export function EditSampling({name, close}: {name: string; close: () => void}) {
  const place = {switch: name};
  const now = () => readVersion("/api/v1/switches/{switch}/sampling", place);
  return (
    <Fresh read={now}>
      {(of) => (
        <Edit
          title={<>What <span class="mono">{name}</span> samples</>} what={`The sampling of ${name}`} by={{kind: "sampling.set", subject_kind: "switch", subject: name}} fields={SAMPLED} of={of} valuesOf={sampledOf} close={close} now={now} line={(changed) => sampleLine(name, changed)}
          save={async (changed, base) => {
            const {enabled, collector, ...numbers} = changed;
            const on = (enabled ?? sampledOf(base)["enabled"]) === "yes";
            const body = {enabled: on, ...(collector ? {collector} : {}), ...Object.fromEntries(Object.entries(numbers).filter(([, value]) => value).map(([word, value]) => [word, Number(value)]))};
            await write("PUT /api/v1/switches/{switch}/sampling", {place, body, version: base.version});
            void samplings().reload();
          }}
        >
          {of.value.items[0]?.setting?.of === "fabric" && <p class="quiet">It samples as its fabric {of.value.items[0].fabric} says. What you set here is this switch's own.</p>}
        </Edit>
      )}
    </Fresh>
  );
}
