// Its networks, and which NIC or bond of each group carries which of them.
import {useSource} from "../../api/source";
import {change, changeAt, draft, removeAt, type GroupDraft, type Use} from "./draft";
import {Choice, Text, Wrong} from "./field";
import {freePrefix, prefixOf, room} from "./prefix";
import {classes, networks as networksThere} from "./sources";

const nodesOf = () => draft.value.groups.reduce((sum, group) => sum + (group.count || 0), 0);

function Network({at, taken}: {at: number; taken: string[]}) {
  const one = draft.value.networks[at]!;
  const others = [...taken, ...draft.value.networks.filter((_, i) => i !== at).map((other) => other.prefix)].filter(Boolean);
  const fitting = freePrefix(nodesOf(), others);
  const given = prefixOf(one.prefix);
  const small = given && room(given.length) < nodesOf();
  return (
    <div class="fields row">
      <Text label={`Name of network ${at + 1}`} pointer={`/networks/${at}/name`} value={one.name} set={(name) => changeAt("networks", at, {name})} placeholder="front" mono />
      <Text
        label="Prefix" pointer={`/networks/${at}/prefix`} value={one.prefix} set={(prefix) => changeAt("networks", at, {prefix})} placeholder="none: no addresses from us" mono
        hint={small ? undefined : given ? `room for ${room(given.length)} nodes` : "with a prefix each node gets an address"}
      />
      <div class="beside">
        {fitting && fitting !== one.prefix && (!given || small) && <button type="button" class="button" onClick={() => changeAt("networks", at, {prefix: fitting})}>Use {fitting}</button>}
        <button type="button" class="button" aria-label={`Remove network ${one.name || at + 1}`} onClick={() => removeAt("networks", at)}>Remove</button>
      </div>
    </div>
  );
}

/** NICs that a group can name: those that all free nodes of its class have, and those that it names already. */
function nicNames(group: GroupDraft, offered: {class: string; nics: string[]}[]): string[] {
  const known = offered.filter((one) => !group.class || one.class === group.class).map((one) => one.nics);
  const common = known.length ? known.reduce((a, b) => a.filter((nic) => b.includes(nic))) : [];
  return [...new Set([...common, ...group.bonds.flatMap((bond) => bond.nics), ...Object.keys(group.nics).filter((nic) => !group.bonds.some((bond) => bond.name === nic))])];
}

function Bonds({at, nics}: {at: number; nics: string[]}) {
  const group = draft.value.groups[at]!;
  const set = (bond: number, more: Partial<GroupDraft["bonds"][number]>) => changeAt("groups", at, {bonds: group.bonds.map((one, i) => (i === bond ? {...one, ...more} : one))});
  return (
    <>
      {group.bonds.map((bond, i) => (
        <div class="fields row" key={i}>
          <Text label={`Name of bond ${i + 1}`} pointer={`/groups/${at}/bonds/${i}/name`} value={bond.name} set={(name) => set(i, {name})} mono />
          <div class="field" role="group" aria-label={`NICs of ${bond.name}`}>
            <span class="label">NICs of it (LACP)</span>
            <span class="checks">
              {nics.map((nic) => (
                <label key={nic} class="check">
                  <input
                    type="checkbox" checked={bond.nics.includes(nic)} disabled={group.bonds.some((other, j) => j !== i && other.nics.includes(nic))}
                    onChange={() => set(i, {nics: bond.nics.includes(nic) ? bond.nics.filter((one) => one !== nic) : [...bond.nics, nic]})}
                  />
                  <span class="mono">{nic}</span>
                </label>
              ))}
            </span>
            <Wrong pointer={`/groups/${at}/bonds/${i}/nics`} />
          </div>
          <div class="beside"><button type="button" class="button" onClick={() => changeAt("groups", at, {bonds: group.bonds.filter((_, j) => j !== i)})}>Remove</button></div>
        </div>
      ))}
      <Wrong pointer={`/groups/${at}/bonds`} />
    </>
  );
}

/** A cell for each NIC and network: an untagged network takes the place of another one there. */
function Wiring({at, nics}: {at: number; nics: string[]}) {
  const group = draft.value.groups[at]!;
  const bonded = new Set(group.bonds.flatMap((bond) => bond.nics));
  const rows = [...group.bonds.map((bond) => bond.name), ...nics.filter((nic) => !bonded.has(nic))].filter(Boolean);
  const set = (nic: string, key: number, use: Use | "") => {
    const uses = {...group.nics[nic]};
    if (use === "untagged") for (const other of Object.keys(uses)) if (uses[other] === "untagged") delete uses[other];
    if (use) uses[key] = use;
    else delete uses[key];
    changeAt("groups", at, {nics: {...group.nics, [nic]: uses}});
  };
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`NICs of group ${at + 1}`}>
      <table class="plain">
        <thead><tr><th>NIC</th>{draft.value.networks.map((one) => <th key={one.key}>{one.name || "network"}</th>)}</tr></thead>
        <tbody>
          {rows.map((nic) => (
            <tr key={nic}>
              <td class="mono">{nic}</td>
              {draft.value.networks.map((one) => (
                <td key={one.key}>
                  <select class="use" aria-label={`${one.name} on ${nic}`} value={group.nics[nic]?.[one.key] ?? ""} onChange={(event) => set(nic, one.key, event.currentTarget.value as Use)}>
                    <option value="">–</option>
                    <option value="untagged">untagged</option>
                    <option value="tagged">tagged</option>
                  </select>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Group({at, offered}: {at: number; offered: {class: string; nics: string[]}[]}) {
  const group = draft.value.groups[at]!;
  const nics = nicNames(group, offered);
  const addBond = () => {
    const name = `bond${group.bonds.length}`;
    const free = nics.filter((nic) => !group.bonds.some((bond) => bond.nics.includes(nic)));
    changeAt("groups", at, {wired: true, bonds: [...group.bonds, {name, nics: free.slice(0, 2)}]});
  };
  return (
    <fieldset class="panel">
      <legend>NICs of group {at + 1}{group.class && `, class ${group.class}`}</legend>
      <Choice
        label="Which NIC carries what" pointer={`/groups/${at}/wired`} value={group.wired ? "own" : "boot"} set={(value) => changeAt("groups", at, value === "own" ? {wired: true} : {wired: false, bonds: []})}
        choices={[["boot", "the NIC that boots carries all: the first network untagged, the others tagged"], ["own", "as I say here"]]}
      />
      {group.wired && <Bonds at={at} nics={nics} />}
      {group.wired && nics.length > 0 && <Wiring at={at} nics={nics} />}
      {group.wired && nics.length === 0 && <p class="quiet">No free node of this class says which NICs it has.</p>}
      <Wrong pointer={`/groups/${at}/nics`} />
      {group.wired && nics.length > 1 && <div class="actions"><button type="button" class="button" onClick={addBond}>Add a bond</button></div>}
    </fieldset>
  );
}

export function NetworksStep() {
  const one = draft.value;
  const offered = useSource(classes(one.tenant)).value?.items ?? [];
  const taken = (useSource(networksThere(one.tenant)).value ?? []).map((network) => network.prefix).filter((prefix) => prefix !== null);
  const add = () => {
    const key = Math.max(0, ...one.networks.map((network) => network.key)) + 1;
    const prefix = freePrefix(nodesOf(), [...taken, ...one.networks.map((network) => network.prefix)].filter(Boolean)) ?? "";
    change({networks: [...one.networks, {key, name: ["front", "back"][one.networks.length] ?? `net${key}`, prefix}]});
  };
  return (
    <div class="stack">
      <p class="quiet">Networks of this PDCI alone. They come with it and go with it.</p>
      {one.networks.map((network, at) => <Network key={network.key} at={at} taken={taken} />)}
      <div class="actions"><button type="button" class="button" disabled={one.networks.length >= 16} onClick={add}>Add a network</button></div>
      {one.networks.length > 0 && one.groups.map((_, at) => <Group key={at} at={at} offered={offered} />)}
    </div>
  );
}
