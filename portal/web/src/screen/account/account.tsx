// My account: what it is, its second factor, where it is logged in, its tokens.
import {write} from "../../api/client";
import {useSource} from "../../api/source";
import type {Session} from "../../api/types";
import {me} from "../../app/session";
import {Command} from "../../part/command";
import {useDialog, type Ask} from "../../part/dialog";
import {Facts} from "../../part/panel";
import {Empty, Head, Shown} from "../../part/screen";
import {since, when} from "../../part/time";
import {Factor} from "./factor";
import {Members} from "./members";
import {account, sessions} from "./sources";
import {Tokens} from "./tokens";

function end(one: Session): Ask {
  return {
    title: "End a session", noun: "session", names: [one.address || String(one.id)], button: "End it",
    children: <p>{one.current ? "It is this one: you log in again." : "Whoever sits there logs in again."}</p>,
    line: () => `haasctl session end ${one.id}`,
    act: async () => {
      await write("DELETE /api/v1/sessions/{session}", {place: {session: one.id}});
      await sessions().reload();
    },
  };
}

function Sessions({ask}: {ask: (ask: Ask) => void}) {
  const source = sessions();
  const held = useSource(source);
  return (
    <section class="panel" aria-label="Sessions">
      <header><h2>Where it is logged in</h2></header>
      <Shown held={held} what="sessions" again={() => void source.reload()}>
        {(list) => (
          <ul class="lines bare">
            {list.map((one) => (
              <li key={one.id}>
                <span class="grow"><span class="mono">{one.address || "this machine"}</span>{one.current && <b> this one</b>}<br /><span class="quiet small">{one.agent && `${one.agent}; `}seen {since(one.seen_at)} ago, ends {when(one.ends_at)}</span></span>
                <button type="button" class="button" aria-label={`End the session from ${one.address}${one.current ? ", this one" : ""}`} onClick={() => ask(end(one))}>End</button>
              </li>
            ))}
          </ul>
        )}
      </Shown>
      <Command line="haasctl session list" />
    </section>
  );
}

export function AccountScreen() {
  const source = account();
  const held = useSource(source);
  const [dialog, ask] = useDialog();
  if (!me.value?.account) return <div class="screen"><h1>My account</h1><Empty title="This is no account"><p>The user of the controller's machine has none.</p></Empty></div>;
  return (
    <div class="screen">
      <Head title="My account" about={me.value.account} held={held} />
      <Shown held={held} what="the account" again={() => void source.reload()}>
        {(of) => (
          <>
            <Facts rows={[["Role", of.role], ["Tenant", of.tenant], ["Since", when(of.created_at)], ["Logs in", of.provider ? `by ${of.provider}` : of.second_factor ? "with password and code" : "with a password"], ["OS user", of.os_user]]} />
            <div class="columns">
              <Factor of={of} />
              <Sessions ask={ask} />
            </div>
            <Tokens ask={ask} />
            {of.tenant && <Members ask={ask} />}
          </>
        )}
      </Shown>
      {dialog}
    </div>
  );
}
