// Subnets, reservations and rules as things that are made, changed and forgotten (part/thing.tsx).
import type {Thing} from "../../part/thing";
import {circuits, reservations, rules, subnets} from "./sources";

export const SUBNET: Thing = {
  noun: "subnet", put: "PUT /api/v1/subnets/{subnet}", gone: "DELETE /api/v1/subnets/{subnet}", line: "subnet set", goneLine: "subnet delete", whole: true, again: () => void subnets().reload(),
  lost: "Nobody gets an address of it any more. It is refused while it has leases or reservations.",
  fields: {
    prefix: {title: "Prefix", max: 18, hint: "10.2.0.0/22"},
    boot_server: {title: "Boot server", max: 15, hint: "Our address, as its clients reach it"},
    gateway: {title: "Gateway", max: 15},
    dns: {title: "Name servers", as: "list", max: 160},
    pool_low: {title: "Lends from", max: 15, hint: "Empty: only what is reserved"},
    pool_high: {title: "Lends to", max: 15},
    reserved_only: {title: "Unknown MACs", words: [["yes", "get silence"], ["no", "are answered too"]], as: "yes", start: "yes", option: ["--known-only", "--open"]},
    lease_s: {title: "Lends for so many seconds", as: "seconds", max: 8, start: "3600", option: "--lease"},
    shared_network: {title: "Shared network", hint: "Subnets on one link bear the same name"},
    relays: {title: "Relays", as: "list", max: 300, option: "--relay", hint: "Empty: any with an address in a subnet of ours"},
  },
};

export const RESERVATION: Thing = {
  noun: "reservation", put: "PUT /api/v1/reservations/{mac}", gone: "DELETE /api/v1/reservations/{mac}", line: "reservation set", goneLine: "reservation delete", key: "MAC", whole: true, again: () => void reservations().reload(),
  lost: "Its address goes back to the subnet.",
  fields: {subnet: {title: "Subnet", option: ""}, address: {title: "Address", max: 15, option: ""}},
};

export const RULE: Thing = {
  noun: "rule", put: "PUT /api/v1/circuit-rules/{rule}", gone: "DELETE /api/v1/circuit-rules/{rule}", line: "circuit set", goneLine: "circuit delete", whole: true,
  again: () => {
    void rules().reload();
    void circuits().reload();
  },
  lost: "Texts that it alone reads are unread again.",
  note: "What is left empty is as the family says. Templates: {port}, {slot}, {switch}, {*} for anything.",
  fields: {
    relay: {title: "Relays, by their address", max: 18, hint: "10.2.0.1/32. Empty: any"},
    family: {title: "Family", hint: "haasctl circuit families lists them"},
    circuit: {title: "Circuit-id", max: 600},
    remote: {title: "Remote-id", max: 600},
    switch: {title: "Switch", hint: "sw2, {switch} or {mac}"},
    port: {title: "Port", hint: "{slot}/{port}; - where it names none"},
    port_offset: {title: "Added to the number of the port", as: "number", max: 6, option: "--offset"},
  },
};

/** A text that a relay sent: it comes back when it is seen again. */
export const CIRCUIT: Thing = {
  noun: "text", put: "POST /api/v1/circuits/{circuit}/proposals", gone: "DELETE /api/v1/circuits/{circuit}", line: "", goneLine: "circuit forget", fields: {}, again: () => void circuits().reload(),
  lost: "It stands here again when a relay sends it again.",
};
