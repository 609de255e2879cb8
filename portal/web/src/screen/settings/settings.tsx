// Settings of the site that take effect at once. Each says what it does; what differs from how it was made is marked.
import {signal} from "@preact/signals";
import {read, write} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import type {Settings as All} from "../../api/types";
import {may} from "../../app/session";
import {editsOf} from "../../part/changed";
import {Command, quote} from "../../part/command";
import {useDialog, type Ask} from "../../part/dialog";
import {Choice, Field} from "../../part/field";
import {Head, Numbers, Shown} from "../../part/screen";
import {count, when} from "../../part/time";

type Setting = All["items"][number];

const GROUPS: Record<string, string> = {login: "Logins", alert: "When something is an alert", capture: "Captures", traffic: "How long traffic is kept"};

const valueOf = (all: All) => Object.fromEntries(all.items.map((one) => [one.name, one.unit ? `${one.value} ${one.unit}` : String(one.value)]));

const settings = () => sourceOf<All>("settings", () => ({load: () => read("/api/v1/settings"), touches: (event) => event.kind === "site.setting_changed", every: () => 60000}));

function change(all: All, one: Setting): Ask {
  const value = signal(String(one.value));
  const now = () => (value.value === "" || value.value === String(one.default) ? null : one.kind === "number" ? Number(value.value) : value.value);
  return {
    title: one.name, noun: "setting", names: [one.name], button: "Set", reason: "kept",
    children: (
      <>
        <p>{one.about}.</p>
        {one.words ? <Choice label="Value" value={value} words={one.words.map((word): [string, string] => [word, word === one.default ? `${word}, as it was made` : word])} /> : (
          <Field label={one.unit ? `Value, in ${one.unit}` : "Value"} value={value} inputMode="numeric" max={20} hint={`From ${one.low} to ${one.high}. It was made as ${one.default}.`} />
        )}
      </>
    ),
    line: () => `haasctl setting set ${quote(`${one.name}=${value.value || "default"}`)}`,
    edits: editsOf("A setting", Object.fromEntries(all.items.map(({name}) => [name, name])), all, valueOf, () => ({[one.name]: `${now() ?? one.default}${one.unit ? ` ${one.unit}` : ""}`}), {kind: "site.setting_changed", subject_kind: "setting"}),
    act: async (why, version = all.version) => {
      await write("PATCH /api/v1/settings", {body: {values: {[one.name]: now()}}, version, why});
      await settings().reload();
    },
  };
}

export function Settings() {
  const source = settings();
  const held = useSource(source);
  const [dialog, ask] = useDialog();
  return (
    <div class={`screen ${held.refusal ? "stale" : ""}`}>
      <Head title="Settings" about="of the site, at once" held={held} />
      <Shown held={held} what="settings" again={() => void source.reload()}>
        {(all) => {
          const changed = all.items.filter((one) => one.value !== one.default);
          const groups = [...new Set(all.items.map((one) => one.name.split(".")[0] ?? ""))];
          return (
            <>
              <Numbers rows={[{value: all.items.length, label: "settings"}, {value: changed.length, label: "differ from how they were made"}, {value: all.changed_at ? when(all.changed_at) : "–", label: all.changed_by ? `changed by ${all.changed_by.replace(/^account /, "")}` : "never changed"}]} />
              {groups.map((group) => (
                <section key={group} class="panel flush" aria-label={GROUPS[group] ?? group}>
                  <header><h2>{GROUPS[group] ?? group}</h2></header>
                  <ul class="lines">
                    {all.items.filter((one) => one.name.startsWith(`${group}.`)).map((one) => (
                      <li key={one.name}>
                        <span class="grow"><span class="mono">{one.name}</span><br /><span class="small quiet">{one.about}</span></span>
                        <span class={one.value === one.default ? "quiet" : ""}>{one.value === one.default ? "" : "changed, "}<b>{typeof one.value === "number" ? count(one.value) : one.value}</b> {one.unit}</span>
                        {may("setting") && <button type="button" class="button" aria-label={`Change ${one.name}`} onClick={() => ask(change(all, one))}>Change</button>}
                      </li>
                    ))}
                  </ul>
                </section>
              ))}
              <Command line="haasctl setting list" />
            </>
          );
        }}
      </Shown>
      {dialog}
    </div>
  );
}
