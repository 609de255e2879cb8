// Exchanges of secrets and keys as rows of one list.
import {readAll} from "../../api/client";
import {sourceOf} from "../../api/source";
import type {KeyRotation, Rotation} from "../../api/types";
import {when} from "../../part/time";

export interface Row {
  key: string;
  what: string;
  of: string;
  state: string;
  actor: string;
  begun_at: string;
  keep_until: string | null;
  ended_at: string | null;
  problem: Rotation["problem"];
  more: string | null;
  line: string;
}

const ofSecret = (one: Rotation): Row => ({
  key: `s${one.id}`, what: one.node ? "password of a BMC" : "secrets of a switch", of: one.node ?? one.switch ?? "", state: one.state, actor: one.actor, begun_at: one.begun_at, keep_until: one.keep_until,
  ended_at: one.ended_at, problem: one.problem, more: one.proven_at ? `proven ${when(one.proven_at)}` : null, line: one.node ? `haasctl rotation list --node ${one.node} --all` : "haasctl rotation list --all",
});
const ofKey = (one: KeyRotation): Row => ({
  key: `k${one.id}`, what: `${one.key} key of a daemon`, of: one.storage ? `${one.daemon} ${one.storage}` : one.daemon, state: one.state, actor: one.actor, begun_at: one.begun_at, keep_until: one.keep_until, ended_at: one.ended_at, problem: one.problem,
  more: one.key === "seal" ? `${one.resealed} secrets sealed anew, ${one.lost} that no key opens` : null, line: "haasctl rotation keys",
});

export const rotations = () =>
  sourceOf<Row[]>("rotations", () => ({
    load: async () => {
      const [secrets, keys] = await Promise.all([readAll("/api/v1/rotations", {}), readAll("/api/v1/rotations/keys", {})]);
      return [...secrets.map(ofSecret), ...keys.map(ofKey)].sort((a, b) => b.begun_at.localeCompare(a.begun_at));
    },
    touches: (event) => event.kind.includes("rotat") || event.kind.includes("password"),
    every: (value) => (value?.some((one) => !one.ended_at) ? 5000 : 60000),
  }));
