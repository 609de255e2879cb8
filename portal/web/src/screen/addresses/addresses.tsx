// Addresses: subnets and how full they are, leases, reservations, where MACs are, and what relays say that nobody can read yet.
import {useMemo} from "preact/hooks";
import {write} from "../../api/client";
import {useSource, type Source} from "../../api/source";
import type {Circuit, CircuitRule, Lease, LocationPage, Reservation, Subnet} from "../../api/types";
import {query, setWords, withWords} from "../../app/route";
import {may} from "../../app/session";
import {Command} from "../../part/command";
import {useDialog, type Ask} from "../../part/dialog";
import {Mark, type Shape} from "../../part/mark";
import {Facts, Panel} from "../../part/panel";
import {Empty, Head, Numbers, Shown} from "../../part/screen";
import {Table, useShownRows, type Column} from "../../part/table";
import {forget, useThing, type Thing} from "../../part/thing";
import {count, span, when} from "../../part/time";
import {ChosenCircuit, textOf} from "./learn";
import {circuits, leases, places, reservations, rules, subnets} from "./sources";
import {CIRCUIT, RESERVATION, RULE, SUBNET} from "./things";

type Place = LocationPage["items"][number];

const LEASE: Record<string, Shape> = {bound: "ok", declined: "fail", released: "idle"};

const LEASES: Column<Lease>[] = [
  {name: "address", title: "Address", value: (row) => row.address, width: "minmax(120px, 1fr)", mono: true, narrow: "title"},
  {name: "state", title: "State", value: (row) => row.state, cell: (row) => <Mark shape={LEASE[row.state] ?? "idle"}>{row.state}</Mark>, width: "110px", narrow: "state"},
  {name: "mac", title: "MAC", value: (row) => row.mac, width: "minmax(140px, 1fr)", mono: true, narrow: "sub"},
  {name: "node", title: "Node", value: (row) => row.node, cell: (row) => (row.node ? <a class="mono" href={`/nodes/${encodeURIComponent(row.node)}`}>{row.node}</a> : <span class="quiet">nobody's</span>), width: "minmax(110px, 1fr)", narrow: "sub"},
  {name: "subnet", title: "Subnet", value: (row) => row.subnet, width: "minmax(90px, 0.8fr)"},
  {name: "reserved", title: "Reserved", value: (row) => (row.reserved ? "yes" : ""), width: "84px", wide: true},
  {name: "until", title: "Until", value: (row) => row.expires_at, cell: (row) => when(row.expires_at), width: "minmax(120px, 0.8fr)"},
];

const SUBNETS: Column<Subnet & {bound: number}>[] = [
  {name: "subnet", title: "Subnet", value: (row) => row.name, width: "minmax(110px, 1fr)", mono: true, narrow: "title"},
  {name: "prefix", title: "Prefix", value: (row) => row.prefix, width: "minmax(120px, 1fr)", mono: true, narrow: "sub"},
  {name: "bound", title: "Leases", value: (row) => row.bound, width: "84px", number: true, narrow: "state"},
  {name: "pool", title: "Pool", value: (row) => (row.pool_low ? `${row.pool_low} to ${row.pool_high}` : "none"), width: "minmax(190px, 1.6fr)", mono: true},
  {name: "server", title: "Boot server", value: (row) => row.boot_server, width: "minmax(110px, 0.9fr)", mono: true, wide: true},
  {name: "lease", title: "Lease", value: (row) => row.lease_s, cell: (row) => span(row.lease_s * 1000), width: "100px", number: true, wide: true},
  {name: "who", title: "For", value: (row) => (row.reserved_only ? "reserved ones only" : "anybody"), width: "minmax(120px, 0.9fr)", wide: true},
];

const RESERVATIONS: Column<Reservation>[] = [
  {name: "address", title: "Address", value: (row) => row.address, width: "minmax(120px, 1fr)", mono: true, narrow: "title"},
  {name: "mac", title: "MAC", value: (row) => row.mac, width: "minmax(140px, 1fr)", mono: true, narrow: "sub"},
  {name: "node", title: "Node", value: (row) => row.node, width: "minmax(110px, 1fr)", mono: true, narrow: "state"},
  {name: "subnet", title: "Subnet", value: (row) => row.subnet, width: "minmax(90px, 0.8fr)"},
  {name: "since", title: "Since", value: (row) => row.created_at, cell: (row) => when(row.created_at), width: "minmax(120px, 0.8fr)"},
];

const PLACES: Column<Place>[] = [
  {name: "mac", title: "MAC", value: (row) => row.mac, width: "minmax(140px, 1fr)", mono: true, narrow: "title"},
  {name: "node", title: "Node", value: (row) => (row.node ? `${row.node}${row.nic ? `:${row.nic}` : ""}` : null), cell: (row) => (row.node ? <span class="mono">{row.node}{row.nic && `:${row.nic}`}</span> : <span class="quiet">nobody's</span>), width: "minmax(120px, 1fr)", narrow: "sub"},
  {name: "port", title: "Port", value: (row) => `${row.switch}:${row.port}`, cell: (row) => <a class="mono" href={`/switches/${encodeURIComponent(row.switch)}?at=${encodeURIComponent(row.port)}`}>{row.switch}:{row.port}</a>, width: "minmax(120px, 1fr)", narrow: "state"},
  {name: "by", title: "By", value: (row) => row.sources.join(", "), width: "minmax(120px, 0.9fr)"},
  {name: "sure", title: "Sure", value: (row) => row.certainty, cell: (row) => `${row.certainty} %`, width: "72px", number: true},
  {name: "since", title: "Since", value: (row) => row.since ?? null, cell: (row) => when(row.since), width: "minmax(120px, 0.8fr)", wide: true},
];

const CIRCUITS: Column<Circuit>[] = [
  {name: "text", title: "Text", value: textOf, width: "minmax(170px, 1.6fr)", mono: true, narrow: "title"},
  {name: "relay", title: "Relay", value: (row) => row.relay, width: "minmax(110px, 0.9fr)", mono: true, narrow: "sub"},
  {name: "mac", title: "Last from", value: (row) => row.mac, width: "minmax(140px, 1fr)", mono: true, wide: true},
  {name: "seen", title: "Seen", value: (row) => row.seen, width: "76px", number: true, narrow: "state"},
  {name: "last", title: "Last", value: (row) => row.last_at, cell: (row) => when(row.last_at), width: "minmax(110px, 0.8fr)"},
];

const RULES: Column<CircuitRule>[] = [
  {name: "rule", title: "Rule", value: (row) => row.name, width: "minmax(110px, 1fr)", mono: true, narrow: "title"},
  {name: "relay", title: "Relay", value: (row) => row.relay ?? "any", width: "minmax(110px, 0.9fr)", mono: true, narrow: "state"},
  {name: "family", title: "Family", value: (row) => row.family ?? null, width: "minmax(110px, 0.9fr)", narrow: "sub"},
  {name: "circuit", title: "Circuit", value: (row) => row.circuit ?? null, width: "minmax(140px, 1.2fr)", mono: true},
  {name: "port", title: "Port", value: (row) => row.port ?? null, width: "minmax(110px, 0.9fr)", mono: true},
];

function reclaim(lease: Lease): Ask {
  return {
    title: "Take the address back", noun: "address", names: [lease.address], button: "Take back", destructive: true,
    children: <p>Its client, <span class="mono">{lease.mac}</span>, may still use it until it asks again. It is given to somebody else at once.</p>,
    line: () => `haasctl lease reclaim ${lease.address}`,
    act: async () => {
      await write("POST /api/v1/leases/{address}/reclaim", {place: {address: lease.address}});
      void leases().reload();
    },
  };
}

function ChosenLease({lease, ask}: {lease: Lease; ask: (ask: Ask) => void}) {
  return (
    <Panel title={<span class="mono">{lease.address}</span>}>
      <Facts
        rows={[
          ["State", <Mark shape={LEASE[lease.state] ?? "idle"}>{lease.state}</Mark>],
          ["MAC", <span class="mono">{lease.mac}</span>],
          ["Node", lease.node && <a href={`/nodes/${encodeURIComponent(lease.node)}`}>{lease.node}</a>],
          ["Client", lease.client],
          ["Subnet", lease.subnet],
          ["Since", when(lease.bound_at)],
          ["Until", when(lease.expires_at)],
        ]}
      />
      {may("address") && lease.state !== "released" && <div class="actions"><button type="button" class="button danger" onClick={() => ask(reclaim(lease))}>Take back…</button></div>}
      <Command line={`haasctl lease list --mac ${lease.mac}`} />
    </Panel>
  );
}

const SHOWS = [["leases", "Leases"], ["subnets", "Subnets"], ["reservations", "Reservations"], ["places", "Locations"], ["circuits", "Unread circuits"], ["rules", "Rules"]] as const;
type Show = (typeof SHOWS)[number][0];

const LINES: Record<Show, string> = {
  leases: "haasctl lease list", subnets: "haasctl subnet list", reservations: "haasctl reservation list", places: "haasctl nic list", circuits: "haasctl circuit unknown", rules: "haasctl circuit list",
};

const NONE: Record<Show, [string, string]> = {
  leases: ["No address is lent", "A node asks when it starts."], subnets: ["No subnet is known", "haasctl subnet set r07 --prefix 10.2.0.0/22 --gateway 10.2.0.1"],
  reservations: ["No address is reserved", "haasctl reservation set 52:54:00:00:00:17 r07 10.2.0.17"], places: ["No MAC was seen", "haasctl switch read SWITCH reads a switch at once."],
  circuits: ["Every text of a relay is read", "Texts that no rule reads stand here."], rules: ["No rule reads option 82", "haasctl circuit learn makes one from a text."],
};

interface ListProps<T> {
  show: Show;
  source: Source<T[]>;
  columns: Column<T>[];
  keyOf: (row: T) => string;
  panel?: (row: T) => preact.ComponentChildren;
}

function List<T>({show, source, columns, keyOf, panel}: ListProps<T>) {
  const held = useSource(source);
  const rows = useShownRows(held.value ?? [], columns);
  const at = query.value.get("at");
  const chosen = panel ? held.value?.find((row) => keyOf(row) === at) : undefined;
  const [title, hint] = NONE[show];
  return (
    <Shown held={held} what={SHOWS.find(([word]) => word === show)![1].toLowerCase()} again={() => void source.reload()}>
      {() => (
        <div class={`body ${chosen ? "split" : ""}`}>
          <Table
            label={SHOWS.find(([word]) => word === show)![1]} beside={!!chosen} rows={rows} columns={columns} shown={columns} keyOf={keyOf}
            none={query.value.get("q") ? <Empty title="Nothing has these words"><a href={withWords({q: undefined})}>Show all</a></Empty> : <Empty title={title}><p class={hint.startsWith("haasctl") ? "mono" : ""}>{hint}</p></Empty>}
          />
          {chosen && panel?.(chosen)}
        </div>
      )}
    </Shown>
  );
}

/** What may be made anew on each table. */
const MADE: Partial<Record<Show, Thing>> = {subnets: SUBNET, reservations: RESERVATION, rules: RULE};

interface ChosenProps {
  thing: Thing;
  name: string;
  facts: [string, preact.ComponentChildren][];
  /** Of what was read, where the API wants it. */
  version?: number;
  ask: (ask: Ask) => void;
  edit: (thing: Thing, name: string) => void;
}

function ChosenThing({thing, name, facts, version, ask, edit}: ChosenProps) {
  return (
    <Panel title={<span class="mono">{name}</span>}>
      <Facts rows={facts} />
      {may("address") && (
        <div class="actions">
          {thing !== RESERVATION && <button type="button" class="button" onClick={() => edit(thing, name)}>Edit</button>}
          <button type="button" class="button danger" onClick={() => ask(forget(thing, name, version))}>Delete…</button>
        </div>
      )}
      <Command line={thing === SUBNET ? `haasctl subnet show ${name}` : LINES[thing === RULE ? "rules" : "reservations"]} />
    </Panel>
  );
}

const mono = (text: string | null | undefined) => text && <span class="mono">{text}</span>;

function Subnets({panel}: {panel: (row: Subnet) => preact.ComponentChildren}) {
  const lent = useSource(leases()).value;
  const held = useSource(subnets());
  const rows = useMemo(() => (held.value ?? []).map((one) => ({...one, bound: (lent ?? []).filter((lease) => lease.subnet === one.name && lease.state === "bound").length})), [held.value, lent]);
  const shown = useShownRows(rows, SUBNETS);
  const chosen = rows.find((one) => one.name === query.value.get("at"));
  const [title, hint] = NONE.subnets;
  return (
    <Shown held={held} what="subnets" again={() => void subnets().reload()}>
      {() => (
        <div class={`body ${chosen ? "split" : ""}`}>
          <Table label="Subnets" beside={!!chosen} rows={shown} columns={SUBNETS} shown={SUBNETS} keyOf={(row) => row.name} none={<Empty title={title}><p class="mono">{hint}</p></Empty>} />
          {chosen && panel(chosen)}
        </div>
      )}
    </Shown>
  );
}

export function Addresses() {
  const show = (query.value.get("show") ?? "leases") as Show;
  const [dialog, ask] = useDialog();
  const [form, edit] = useThing();
  const common = {ask, edit};
  const made = MADE[show];
  const lent = useSource(leases());
  const nets = useSource(subnets()).value;
  const unread = useSource(circuits()).value;
  const list = lent.value ?? [];
  return (
    <div class={`screen ${lent.refusal && lent.value ? "stale" : ""}`}>
      <Head title="Addresses" about="subnets, leases, and where MACs are" held={lent} filter="10.2" />
      <Numbers
        rows={[
          {value: list.filter((one) => one.state === "bound").length, label: "leases"},
          {value: nets?.length ?? "–", label: "subnets"},
          {value: list.filter((one) => one.state === "declined").length, label: "declined, somebody else has them", tone: "fail"},
          {value: unread?.length ?? "–", label: "unread circuits", tone: "wait", href: "/addresses?show=circuits"},
        ]}
      />
      <nav class="segments start" aria-label="Which table">
        {SHOWS.map(([word, title]) => <a key={word} href={`/addresses${word === "leases" ? "" : `?show=${word}`}`} aria-current={show === word ? "true" : undefined}>{title}{word === "circuits" && unread?.length ? ` ${count(unread.length)}` : ""}</a>)}
      </nav>
      {may("address") && made && <div class="bar"><div class="end"><button type="button" class="button" onClick={() => edit(made)}>New {made.noun}</button></div></div>}
      {show === "subnets" ? <Subnets panel={(row) => <ChosenThing {...common} thing={SUBNET} name={row.name} version={row.version} facts={[["Prefix", mono(row.prefix)], ["Boot server", mono(row.boot_server)], ["Gateway", mono(row.gateway)], ["Name servers", mono(row.dns.join(", "))], ["Lends", row.pool_low ? mono(`${row.pool_low} to ${row.pool_high}`) : "only what is reserved"], ["Unknown MACs", row.reserved_only ? "get silence" : "are answered"], ["For", span(row.lease_s * 1000)], ["Shared network", row.shared_network], ["Relays", mono(row.relays.join(", ")) || "any of ours"]]} />} />
        : show === "reservations" ? <List key={show} show={show} source={reservations()} columns={RESERVATIONS} keyOf={(row) => row.mac} panel={(row) => <ChosenThing {...common} thing={RESERVATION} name={row.mac} facts={[["Address", mono(row.address)], ["Subnet", row.subnet], ["Node", row.node], ["Since", when(row.created_at)]]} />} />
          : show === "places" ? <List key={show} show={show} source={places()} columns={PLACES} keyOf={(row) => row.mac} />
            : show === "circuits" ? <List key={show} show={show} source={circuits()} columns={CIRCUITS} keyOf={(row) => String(row.id)} panel={(row) => <ChosenCircuit key={row.id} circuit={row} done={() => setWords({at: undefined})} forget={() => ask(forget(CIRCUIT, String(row.id)))} />} />
              : show === "rules" ? <List key={show} show={show} source={rules()} columns={RULES} keyOf={(row) => row.name} panel={(row) => <ChosenThing {...common} thing={RULE} name={row.name} facts={[["Relays", mono(row.relay) ?? "any"], ["Family", row.family], ["Circuit-id", mono(row.circuit)], ["Remote-id", mono(row.remote)], ["Switch", mono(row.switch)], ["Port", mono(row.port)], ["Since", when(row.created_at)]]} />} />
                : <List key={show} show="leases" source={leases()} columns={LEASES} keyOf={(row) => row.address} panel={(row) => <ChosenLease lease={row} ask={ask} />} />}
      <Command line={LINES[show] ?? LINES.leases} />
      {dialog}{form}
    </div>
  );
}
