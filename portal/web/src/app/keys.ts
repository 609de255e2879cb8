// Keys that work everywhere: / filter, g and a letter goes, Ctrl-K finds, ? helps. Nothing is taken from a field that one types in.
import {go} from "./route";
import {myScreens} from "./screens";

const GO_MS = 1500;

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.("input, textarea, select, dialog, [contenteditable]");
}

export function startKeys(open: (what: "palette" | "help") => void): () => void {
  let going = 0;
  const onKey = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open("palette");
      return;
    }
    if (event.key === "Escape") {
      document.querySelector("details.menu[open]")?.removeAttribute("open");
      if ((event.target as HTMLElement).id === "filter") document.querySelector<HTMLElement>(".table")?.focus();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const goes = Date.now() - going < GO_MS ? myScreens().find((screen) => screen.key === event.key) : undefined;
    going = event.key === "g" ? Date.now() : 0;
    if (goes) go(goes.path);
    else if (event.key === "?") open("help");
    else if (event.key === "/") {
      const filter = document.getElementById("filter");
      if (filter) filter.focus();
      else open("palette");
    } else return;
    event.preventDefault();
  };
  // A menu is open until one looks elsewhere.
  const onClick = (event: Event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target as Node)) menu.removeAttribute("open");
  };
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", onClick);
  return () => {
    document.removeEventListener("keydown", onKey);
    document.removeEventListener("click", onClick);
  };
}
