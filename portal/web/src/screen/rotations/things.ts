// Secrets that are exchanged because a person asks for it (part/thing.tsx).
import type {Thing, ThingField} from "../../part/thing";
import {rotations} from "./sources";

const again = () => void rotations().reload();
const kept = (start: string): ThingField => ({title: "Keep the old one, seconds", as: "seconds", max: 8, start, option: "--keep"});

export const PASSWORDS: Thing = {
  noun: "password", title: "New passwords of BMCs", button: "Exchange", put: "POST /api/v1/rotations", line: "rotation bmc", key: null, again,
  note: "bampid makes each, sets it, and logs in with it before it counts. Nobody else sees it.",
  fields: {nodes: {title: "Nodes", as: "list", max: 2000, option: ""}, keep_s: kept("86400")},
};

const DAEMONS: [string, string][] = [["bampid", "bampid: BMCs"], ["bampi-stored", "bampi-stored: volumes"], ["peregrined", "peregrined: switches"], ["portal-outward", "portal-outward: webhooks"], ["portald", "portald: authenticators"]];

export const KEY: Thing = {
  noun: "key", title: "New key of a daemon", button: "Exchange", put: "POST /api/v1/rotations/keys", line: "rotation", key: null, again,
  note: "All that was sealed is sealed anew; both keys open meanwhile. Back up the keys afterwards.",
  fields: {
    key: {title: "Which key", words: [["seal", "that secrets are sealed to"], ["certificate", "that certificates are signed with"]], start: "seal", option: ({key, daemon}) => (key === "certificate" ? key : `seal ${daemon}`)},
    daemon: {title: "Of", words: DAEMONS, start: "bampid", option: () => ""},
    storage: {title: "Storage", hint: "Of bampi-stored, where there are several"},
    keep_s: kept("2592000"),
  },
};
