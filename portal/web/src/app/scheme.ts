// Light, dark, or as the machine says: kept in this browser.
import {signal} from "@preact/signals";

const WORDS = ["machine", "light", "dark"] as const;
type Scheme = (typeof WORDS)[number];

const kept = localStorage.getItem("scheme") as Scheme | null;

export const scheme = signal<Scheme>(kept && WORDS.includes(kept) ? kept : "machine");

scheme.subscribe((word) => {
  if (word === "machine") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = word;
  localStorage.setItem("scheme", word);
});

export function nextScheme() {
  scheme.value = WORDS[(WORDS.indexOf(scheme.value) + 1) % WORDS.length] ?? "machine";
}
