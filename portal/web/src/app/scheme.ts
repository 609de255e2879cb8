// Light, dark, or as the machine says. This browser keeps it for the first paint; a person's own comes with the login (own.ts).
import {signal} from "@preact/signals";

export const SCHEMES = ["machine", "light", "dark"] as const;
type Scheme = (typeof SCHEMES)[number];

const kept = localStorage.getItem("scheme") as Scheme | null;

export const scheme = signal<Scheme>(kept && SCHEMES.includes(kept) ? kept : "machine");

scheme.subscribe((word) => {
  if (word === "machine") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = word;
  localStorage.setItem("scheme", word);
});
