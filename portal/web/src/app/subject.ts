// Where the page shows the subject of an alert, of an event or of the status.
import {isSite} from "./session";

const word = encodeURIComponent;

interface Place {
  /** Only the site has this screen. */
  site?: boolean;
  at: (subject: string, tenant: string | null) => string;
}

function portAt(subject: string): string {
  const colon = subject.indexOf(":");
  return colon < 0 ? `/switches/${word(subject)}` : `/switches/${word(subject.slice(0, colon))}?at=${word(subject.slice(colon + 1))}`;
}

const PLACES: Record<string, Place> = {
  account: {site: true, at: (subject) => `/people?q=${word(subject)}`},
  capture: {at: (subject) => `/captures/${word(subject)}`},
  case: {at: (subject) => `/cases/${word(subject)}`},
  fabric: {site: true, at: () => "/topology"},
  mac: {site: true, at: (subject) => `/addresses?show=places&q=${word(subject)}`},
  node: {at: (subject) => `/nodes/${word(subject)}`},
  pdci: {at: (subject, tenant) => `/pdcis/${word(subject)}${isSite.value && tenant ? `?tenant=${word(tenant)}` : ""}`},
  port: {site: true, at: portAt},
  relay: {site: true, at: (subject) => `/addresses?show=circuits&q=${word(subject)}`},
  switch: {site: true, at: (subject) => `/switches/${word(subject)}`},
  tenant: {site: true, at: (subject) => `/tenants?at=${word(subject)}`},
};

/** undefined: no screen shows it to who is logged in. */
export function subjectHref(kind: string, subject: string, tenant: string | null = null): string | undefined {
  const place = PLACES[kind];
  return place && subject !== "" && (isSite.value || !place.site) ? place.at(subject, tenant) : undefined;
}
