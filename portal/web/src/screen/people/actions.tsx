// What is done about accounts: invite, a new link, role, disable, second factor, sessions.
import {signal} from "@preact/signals";
import {write} from "../../api/client";
import type {Account, AccountRole, Session, Token} from "../../api/types";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {Choice, Field} from "../../part/field";
import {tellOnce} from "../../part/once";
import {editsOfAccount} from "../account";
import {accounts, sessions, tokens} from "./sources";

export const ROLES: readonly [AccountRole, string][] = [
  ["operator", "operator: all of the site"], ["on-call", "on-call: alerts, cases, power"], ["auditor", "auditor: reads only"],
  ["tenant-admin", "tenant-admin: all of a tenant"], ["tenant-member", "tenant-member: a tenant's nodes"],
];
const ofTenant = (role: string) => role.startsWith("tenant-");
const readAgain = () => accounts().reload();

const linkOf = (secret: string) => `${location.origin}/link#${secret}`;

function tell(name: string, answer: {link: string; expires_at: string}) {
  tellOnce({
    title: `The link of ${name}`, secret: linkOf(answer.link),
    next: `Whoever opens it chooses the password, once, until ${new Date(answer.expires_at).toLocaleString("sv").slice(0, 16)}.`,
  });
}

export function invite(tenants: string[]): Ask {
  const name = signal("");
  const role = signal<string>("operator");
  const tenant = signal(tenants[0] ?? "");
  return {
    title: "Invite a person", noun: "person", names: [], button: "Invite",
    get children() {
      return (
        <>
          <Field label="Name" value={name} required max={127} example="ann" hint="Small letters, digits and . _ @ -" />
          <Choice label="Role" value={role} words={ROLES} />
          <OfTenant role={role} tenant={tenant} tenants={tenants} />
        </>
      );
    },
    line: () => `haasctl account invite ${quote(name.value || "NAME")} --role ${role.value}${ofTenant(role.value) ? ` --tenant ${quote(tenant.value || "TENANT")}` : ""}`,
    act: async () => {
      const body = {name: name.value.trim(), role: role.value as AccountRole, ...(ofTenant(role.value) ? {tenant: tenant.value} : {})};
      const answer = await write("POST /api/v1/accounts", {body});
      tell(answer.name, answer);
      await readAgain();
    },
  };
}

function OfTenant({role, tenant, tenants}: {role: {value: string}; tenant: Parameters<typeof Choice>[0]["value"]; tenants: string[]}) {
  if (!ofTenant(role.value)) return null;
  return <Choice label="Tenant" value={tenant} words={tenants.map((name): [string, string] => [name, name])} />;
}

export function newLink(one: Account): Ask {
  return {
    title: "A new link", noun: "account", names: [one.name], button: "Make a link", reason: "kept",
    children: <p>For a person who lost the password. An older link is void. What is open stays open until the link is used.</p>,
    line: () => `haasctl account link ${quote(one.name)}`,
    act: async (why) => {
      tell(one.name, await write("POST /api/v1/accounts/{account}/link", {place: {account: one.name}, body: {}, why}));
    },
  };
}

export function able(one: Account): Ask {
  const word = one.disabled ? "Enable" : "Disable";
  return {
    title: `${word} ${one.name}`, noun: "account", names: [one.name], button: word, reason: "kept", destructive: !one.disabled,
    children: <p>{one.disabled ? "The person may log in again, with the password of before." : "All its sessions and tokens end now."}</p>,
    line: () => `haasctl account ${word.toLowerCase()} ${quote(one.name)}`,
    edits: editsOfAccount(one, () => ({disabled: !one.disabled})),
    act: async (why, version = one.version) => {
      await write("PATCH /api/v1/accounts/{account}", {place: {account: one.name}, body: {disabled: !one.disabled}, version, why});
      await readAgain();
    },
  };
}

export function changeRole(one: Account): Ask {
  const role = signal<string>(one.role);
  return {
    title: `Role of ${one.name}`, noun: "account", names: [one.name], button: "Change", reason: "kept",
    children: (
      <>
        <Choice label="Role" value={role} words={ROLES.filter(([word]) => ofTenant(word) === ofTenant(one.role))} />
        <p>All its sessions and tokens end: the next login has the new role.</p>
      </>
    ),
    line: () => `haasctl account role ${quote(one.name)} ${role.value}`,
    edits: editsOfAccount(one, () => ({role: role.value})),
    act: async (why, version = one.version) => {
      await write("PATCH /api/v1/accounts/{account}", {place: {account: one.name}, body: {role: role.value as AccountRole}, version, why});
      await readAgain();
    },
  };
}

export function resetFactor(one: Account): Ask {
  return {
    title: "Reset the second factor", noun: "account", names: [one.name], button: "Reset", reason: "required", destructive: true,
    children: <p>For a person who lost the authenticator and the recovery codes. A password alone logs in until another one is made.</p>,
    line: () => `haasctl totp reset ${quote(one.name)}`,
    act: async (why) => {
      await write("DELETE /api/v1/accounts/{account}/second-factor", {place: {account: one.name}, why});
      await readAgain();
    },
  };
}

export function endSession(one: Session): Ask {
  return {
    title: "End a session", noun: "session", names: [`${one.account} from ${one.address}`], button: "End",
    children: <p>{one.agent}</p>,
    line: () => `haasctl session end ${one.id}`,
    act: async () => {
      await write("DELETE /api/v1/sessions/{session}", {place: {session: one.id}});
      await sessions(one.account).reload();
    },
  };
}

export function endToken(one: Token): Ask {
  return {
    title: "End a token", noun: "token", names: [one.name], button: "End",
    children: <p>The program that has it is refused from now on.</p>,
    line: () => `haasctl token end ${one.id}`,
    act: async () => {
      await write("DELETE /api/v1/tokens/{token}", {place: {token: one.id}});
      await tokens(one.account).reload();
    },
  };
}
