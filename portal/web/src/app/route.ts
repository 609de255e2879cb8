// The address is the state: which screen, and what of it is chosen, sorted and filtered. Links are plain links; a click on one stays in the page.
import {computed, signal} from "@preact/signals";

export interface Place {
  path: string;
  query: URLSearchParams;
}

const here = (): Place => ({path: location.pathname, query: new URLSearchParams(location.search)});

export const place = signal<Place>(here());
export const query = computed(() => place.value.query);

export function go(url: string, replace = false) {
  if (url === location.pathname + location.search) return;
  const moved = new URL(url, location.href).pathname !== location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  place.value = here();
  if (moved) document.querySelector("main")?.scrollTo(0, 0);
}

/** The address of this screen with other words; undefined takes one away. */
export function withWords(words: Record<string, string | undefined>): string {
  const next = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(words)) {
    if (value === undefined || value === "") next.delete(name);
    else next.set(name, value);
  }
  return next.size ? `${place.value.path}?${next}` : place.value.path;
}

export function setWords(words: Record<string, string | undefined>) {
  go(withWords(words), true);
}

export function startRoute() {
  window.addEventListener("popstate", () => (place.value = here()));
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    // A link of a drawing has no members of its address.
    const link = (event.target as Element).closest?.("a[href]");
    const url = link && new URL(link.getAttribute("href")!, location.href);
    if (!url || url.origin !== location.origin || link.hasAttribute("target") || url.pathname.startsWith("/api/")) return;
    event.preventDefault();
    go(url.pathname + url.search);
  });
}
