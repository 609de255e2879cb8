// People: who may log in, as what, by what, and what each has open.
import {useSource} from "../../api/source";
import type {Account} from "../../api/types";
import {may} from "../../app/session";
import {Command} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {ListScreen} from "../../part/list";
import {Mark, type Shape} from "../../part/mark";
import {Once} from "../../part/once";
import {Facts, Panel} from "../../part/panel";
import {Empty, Shown} from "../../part/screen";
import type {Column} from "../../part/table";
import {since, when} from "../../part/time";
import {tenants} from "../tenants/sources";
import {able, changeRole, endSession, endToken, invite, newLink, resetFactor} from "./actions";
import {accounts, sessions, tokens} from "./sources";

const stateOf = (one: Account): [Shape, string] => (one.disabled ? ["fail", "disabled"] : one.invited ? ["wait", "invited"] : ["ok", "active"]);
const wayOf = (one: Account) => (one.provider ? `by ${one.provider}` : one.invited ? "no password yet" : one.second_factor ? "password and code" : "password");

const COLUMNS: Column<Account>[] = [
  {name: "name", title: "Account", value: (row) => row.name, mono: true, width: "minmax(140px, 1fr)", narrow: "title"},
  {name: "state", title: "State", value: (row) => stateOf(row)[1], cell: (row) => <Mark shape={stateOf(row)[0]}>{stateOf(row)[1]}</Mark>, width: "110px", narrow: "state"},
  {name: "role", title: "Role", value: (row) => row.role, width: "130px", narrow: "sub"},
  {name: "tenant", title: "Tenant", value: (row) => row.tenant ?? "site", width: "minmax(90px, 0.6fr)", narrow: "sub"},
  {name: "way", title: "Logs in", value: wayOf, width: "minmax(150px, 1fr)", wide: true},
  {name: "os_user", title: "OS user", value: (row) => row.os_user, width: "100px", mono: true, extra: true},
  {name: "since", title: "Since", value: (row) => row.created_at, cell: (row) => <>{when(row.created_at)}</>, width: "150px", number: true, wide: true},
];

function Chosen({one, ask}: {one: Account; ask: ReturnType<typeof useDialog>[1]}) {
  const source = sessions(one.name);
  const open = useSource(source);
  const held = useSource(tokens(one.name)).value ?? [];
  return (
    <Panel title={<span class="mono">{one.name}</span>}>
      <Facts
        rows={[
          ["State", <Mark shape={stateOf(one)[0]}>{stateOf(one)[1]}</Mark>], ["Role", one.role], ["Tenant", one.tenant], ["Logs in", wayOf(one)], ["OS user", one.os_user],
          ["Invited", `${when(one.created_at)} by ${one.created_by.replace(/^account /, "")}`],
        ]}
      />
      <Shown held={open} what="its sessions" again={() => void source.reload()}>
        {(list) => (
          <div>
            <h3>Sessions</h3>
            {list.length === 0 ? <p class="quiet">None is open.</p> : (
              <ul class="lines bare">
                {list.map((row) => (
                  <li key={row.id}>
                    <span class="grow"><span class="mono">{row.address}</span> <span class="quiet small">seen {since(row.seen_at)} ago{row.current && ", this one"}<br />{row.agent}</span></span>
                    {may("account") && <button type="button" class="button small" onClick={() => ask(endSession(row))}>End</button>}
                  </li>
                ))}
              </ul>
            )}
          </div>
        )}
      </Shown>
      {held.length > 0 && (
        <div>
          <h3>Tokens</h3>
          <ul class="lines bare">
            {held.map((row) => (
              <li key={row.id}>
                <span class="grow"><span class="mono">{row.name}</span> <span class="quiet small">{row.scopes.join(" ")}, until {when(row.expires_at)}</span></span>
                {may("account") && <button type="button" class="button small" onClick={() => ask(endToken(row))}>End</button>}
              </li>
            ))}
          </ul>
        </div>
      )}
      {may("account") && (
        <div class="actions">
          {!one.disabled && <button type="button" class="button" onClick={() => ask(newLink(one))}>New link</button>}
          <button type="button" class="button" onClick={() => ask(changeRole(one))}>Role</button>
          {one.second_factor && <button type="button" class="button" onClick={() => ask(resetFactor(one))}>Reset second factor…</button>}
          <button type="button" class={`button ${one.disabled ? "" : "danger"}`} onClick={() => ask(able(one))}>{one.disabled ? "Enable" : "Disable…"}</button>
        </div>
      )}
      <Command line={`haasctl account show ${one.name}`} />
    </Panel>
  );
}

export function People() {
  const source = accounts();
  const held = useSource(source);
  const names = useSource(tenants()).value?.map((one) => one.name) ?? [];
  const [dialog, ask] = useDialog();
  return (
    <>
      <ListScreen
        title="People" what="accounts" table="people" filter="operator ann" held={held} again={() => void source.reload()} columns={COLUMNS} keyOf={(row) => row.name} about="who may log in"
        numbers={(list) => [
          {value: list.filter((one) => !one.disabled && !one.invited).length, label: "active", tone: "ok"},
          {value: list.filter((one) => one.invited && !one.disabled).length, label: "invited", tone: "wait"},
          {value: list.filter((one) => one.disabled).length, label: "disabled"},
          {value: list.filter((one) => !one.disabled && one.role === "operator").length, label: "operators"},
          {value: list.filter((one) => !one.disabled && !one.second_factor && !one.provider && !one.invited).length, label: "by a password alone", tone: "wait"},
        ]}
        before={<Once />}
        actions={may("account") && <button type="button" class="button main" onClick={() => ask(invite(names))}>Invite</button>}
        panel={(row) => <Chosen key={row.name} one={row} ask={ask} />}
        none={<Empty title="No account"><p class="mono">haasctl account invite ann --role operator</p></Empty>}
        line="haasctl account list"
      />
      {dialog}
    </>
  );
}
