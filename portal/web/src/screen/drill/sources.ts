// What the drill asks. A case keeps what a person asked, not what a followed page asks again by itself.
import {read, readAll} from "../../api/client";
import {sourceOf} from "../../api/source";
import type {Alert, AlertDetail} from "../../api/types";
import {workedOn} from "../../app/case";
import {isSite} from "../../app/session";
import {secondsOf, stamp, type Spot} from "./url";

/** Rows at most; the rest is "other". */
export const LIMIT = 100;
export const FOLLOW_MS = 2000;
export const STILL_MS = 600000;
const MINUTE = 60000;

export const level = (spot: Spot) =>
  sourceOf(`drill ${spot.path} ${spot.at ?? ""} ${spot.window} ${workedOn.peek() ?? ""}`, () => {
    let asked = workedOn.peek();
    return {
      load: () => {
        const number = asked;
        asked = undefined;
        return read("/api/v1/drill", {}, {path: spot.path, at: spot.at, window: spot.window, limit: LIMIT, case: number});
      },
      every: () => (spot.at ? STILL_MS : FOLLOW_MS * (secondsOf(spot.window) > 900 ? 5 : 1)),
    };
  });

/** The same place in the time before: whole minutes, so that it is asked once a minute while the page follows. */
export function before(spot: Spot, from: string) {
  const at = spot.at ? from : stamp(Math.floor(Date.parse(from) / MINUTE) * MINUTE);
  return sourceOf(`drill before ${spot.path} ${at} ${spot.window}`, () => ({
    load: () => read("/api/v1/drill", {}, {path: spot.path, at, window: spot.window, limit: LIMIT}),
    every: () => STILL_MS,
  }));
}

/** The speed of a link's port, where the switch said one; operators alone may ask. */
export const portSpeed = (name: string, port: string) =>
  sourceOf(`speed ${name} ${port}`, () => ({
    load: async () => {
      if (!name || !isSite.value) return 0;
      const ports = await read("/api/v1/switches/{switch}/ports", {switch: name}).catch(() => undefined);
      return ports?.items.find((one) => one.port === port)?.speed_bps ?? 0;
    },
    every: () => STILL_MS,
  }));

/** Second by second where the collector still has them: what is followed is read again as often as the level. */
export const series = (spot: Spot) =>
  sourceOf(`drill series ${spot.path} ${spot.at ?? ""} ${spot.window}`, () => ({
    load: () => read("/api/v1/drill/series", {}, {path: spot.path, at: spot.at, window: spot.window}),
    every: () => (spot.at ? STILL_MS : FOLLOW_MS * (secondsOf(spot.window) > 900 ? 5 : 1)),
  }));

export interface AlertsHere {
  /** With what is suspected. */
  open: AlertDetail[];
  all: Alert[];
}

/** Alerts of a link's traffic: those that are open with what is suspected, and those that were. */
export const alertsOf = (subject: string) =>
  sourceOf<AlertsHere>(`alerts of ${subject}`, () => ({
    load: async () => {
      if (!subject) return {open: [], all: []};
      const all = (await readAll("/api/v1/alerts", {subject, state: "all"})).filter((one) => one.kind.startsWith("traffic."));
      const open = all.filter((one) => !one.cleared_at && !one.silenced_until);
      return {all, open: await Promise.all(open.map((one) => read("/api/v1/alerts/{alert}", {alert: one.id})))};
    },
    touches: (event) => event.kind.startsWith("alert.") || event.kind.startsWith("silence."),
    every: () => 10000,
  }));
