// What every OS gets: keys, packages, user data.
import {useSource} from "../../api/source";
import {bytes} from "../../part/time";
import {change, draft} from "./draft";
import {Field, Wrong} from "./field";
import {packages} from "./sources";

const MOST = 16;

function Packages() {
  const there = (useSource(packages()).value ?? []).filter((one) => one.state === "ready");
  const chosen = draft.value.packages;
  const toggle = (name: string) => change({packages: chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]});
  if (there.length === 0) return <p class="quiet">No package is there or granted to you. <span class="mono">haasctl package import</span> makes one.</p>;
  return (
    <div class="field" role="group" aria-label="Packages">
      <span class="label">Packages, installed when the OS first starts, in this order: {chosen.join(", ") || "none"}</span>
      <span class="checks">
        {there.map((one) => {
          const name = `${one.name}:${one.version}`;
          return (
            <label key={name} class="check">
              <input type="checkbox" checked={chosen.includes(name)} disabled={!chosen.includes(name) && chosen.length >= MOST} onChange={() => toggle(name)} />
              <span class="mono">{name}</span><span class="quiet small">{one.kind}, {bytes(one.size_bytes)}</span>
            </label>
          );
        })}
      </span>
      <Wrong pointer="/params/packages" />
    </div>
  );
}

export function SoftwareStep() {
  const one = draft.value;
  return (
    <div class="stack">
      <Field label="SSH keys for root, a line each" pointer="/params/ssh_keys" hint="Lines of .pub files. Without one nobody logs in over the network.">
        {(id) => <textarea id={id} class="mono" rows={4} spellcheck={false} value={one.keys} onInput={(event) => change({keys: event.currentTarget.value})} placeholder="ssh-ed25519 AAAA... me@laptop" />}
      </Field>
      <Packages />
      <Field label="User data, handed to each OS" pointer="/params/user_data" hint="It may hold secrets: this draft keeps it in this tab alone.">
        {(id) => <textarea id={id} class="mono" rows={6} spellcheck={false} value={one.user_data} onInput={(event) => change({user_data: event.currentTarget.value})} placeholder="#!/bin/sh" />}
      </Field>
    </div>
  );
}
