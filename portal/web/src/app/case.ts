// The case that this tab works on: what is asked for a complaint is written into it (openapi.yaml, X-Haas-Case). Kept by the tab, not by the address: the
// reference of a place is the same for everybody.
import {signal} from "@preact/signals";

const PLACE = "haas-case";

export const workedOn = signal<number | undefined>(Number(sessionStorage.getItem(PLACE)) || undefined);

export function workOn(id: number | undefined) {
  workedOn.value = id;
  if (id === undefined) sessionStorage.removeItem(PLACE);
  else sessionStorage.setItem(PLACE, String(id));
}
