// Who else is of the tenant: invited by a link that is told once, disabled and enabled by its admin.
import {useState} from "preact/hooks";
import {readAll, Refusal, write} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import type {Account, AccountRole} from "../../api/types";
import {me} from "../../app/session";
import {Command, quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {Mark} from "../../part/mark";
import {Shown} from "../../part/screen";
import {when} from "../../part/time";
import {Told} from "../../part/once";
import {editsOfAccount} from "../account";

const members = () => sourceOf("members", () => ({load: () => readAll("/api/v1/accounts", {}), touches: (event) => event.subject_kind === "account"}));

const isAdmin = () => me.value?.role === "tenant-admin";
const again = () => members().reload();

/** A link holds its secret behind #, which no browser sends. */
const linkOf = (secret: string) => `${location.origin}/link#${secret}`;

function able(one: Account): Ask {
  const verb = one.disabled ? "enable" : "disable";
  return {
    title: `${one.disabled ? "Enable" : "Disable"} ${one.name}`, noun: "account", names: [one.name], button: one.disabled ? "Enable" : "Disable", destructive: !one.disabled, reason: "kept",
    children: <p>{one.disabled ? "It may log in again." : "Its sessions and tokens end at once; nobody logs in with it."}</p>,
    line: () => `haasctl account ${verb} ${quote(one.name)}`,
    edits: editsOfAccount(one, () => ({disabled: !one.disabled})),
    act: async (why, version = one.version) => {
      await write("PATCH /api/v1/accounts/{account}", {place: {account: one.name}, body: {disabled: !one.disabled}, version, why});
      await again();
    },
  };
}

function Invite() {
  const [name, setName] = useState("");
  const [role, setRole] = useState<AccountRole>("tenant-member");
  const [made, setMade] = useState<{name: string; link: string; expires_at: string}>();
  const [refusal, setRefusal] = useState<Refusal>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setRefusal(undefined);
    try {
      setMade(await write("POST /api/v1/accounts", {body: {name: name.trim(), role}}));
      setName("");
      void again();
    } catch (error) {
      setRefusal(error as Refusal);
    }
  };
  if (made) return <Told title={`The link of ${made.name}`} secret={linkOf(made.link)} next={`Whoever opens it chooses the password, until ${when(made.expires_at)}.`} close={() => setMade(undefined)} />;
  return (
    <form class="stack" onSubmit={submit}>
      <div class="fields">
        <div class="field"><label for="member-name">Name of the person</label><input id="member-name" value={name} maxLength={63} required placeholder="ann" autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} /></div>
        <div class="field">
          <label for="member-role">May</label>
          <select id="member-role" value={role} onChange={(event) => setRole(event.currentTarget.value as AccountRole)}>
            <option value="tenant-member">all but people (tenant-member)</option>
            <option value="tenant-admin">all, people too (tenant-admin)</option>
          </select>
        </div>
      </div>
      {refusal && <div class="note fail" role="alert"><p><b>{refusal.problem.title}</b></p>{refusal.problem.errors?.map((one) => <p key={one.message}>{one.pointer} {one.message}</p>)}</div>}
      <div class="actions"><button class="button main" disabled={!name.trim()}>Invite</button></div>
      <Command line={`haasctl account invite ${quote(name || "NAME")} --role ${role}`} />
    </form>
  );
}

export function Members({ask}: {ask: (ask: Ask) => void}) {
  const source = members();
  const held = useSource(source);
  return (
    <section class="panel" aria-label="Members">
      <header><h2>Members of {me.value?.tenant}</h2></header>
      <Shown held={held} what="members" again={() => void source.reload()}>
        {(list) => (
          <ul class="lines bare">
            {list.map((one) => (
              <li key={one.name}>
                <span class="grow"><span class="mono">{one.name}</span> <span class="quiet">{one.role}</span><br /><Mark shape={one.disabled ? "fail" : one.invited ? "wait" : "ok"}>{one.disabled ? "disabled" : one.invited ? "invited, no password yet" : one.second_factor ? "logs in with a code" : "logs in"}</Mark></span>
                {isAdmin() && one.name !== me.value?.account && <button type="button" class={`button ${one.disabled ? "" : "danger"}`} aria-label={`${one.disabled ? "Enable" : "Disable…"} ${one.name}`} onClick={() => ask(able(one))}>{one.disabled ? "Enable" : "Disable…"}</button>}
              </li>
            ))}
          </ul>
        )}
      </Shown>
      {isAdmin() && <Invite />}
    </section>
  );
}
