// Storages as things that are made and changed (part/thing.tsx).
import type {Thing} from "../../part/thing";
import {storages} from "./sources";

export const STORAGE: Thing = {
  noun: "storage", put: "PUT /api/v1/storages/{storage}", line: "storage set", again: () => void storages().reload(),
  fields: {
    portal: {title: "Portal, ADDRESS:PORT where nodes reach it"},
    capacity_bytes: {title: "At most, for volumes and archives", as: "size", max: 20, option: "--capacity", hint: "20T, 500G or bytes. Empty: what the disk has"},
    accepts: {title: "New volumes", words: [["yes", "are taken"], ["no", "are not taken"]], as: "yes", start: "yes"},
    port: {title: "Switch port, SWITCH:PORT", max: 127, hint: "Empty: the site routes its portal"},
    prefix: {title: "Addresses of its networks", max: 18, hint: "With a switch port: 100.96.0.0/16"},
  },
};
