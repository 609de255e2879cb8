// Colours for what is drawn on a canvas: the style sheet's own, in the scheme of now. What reads `repaint` draws again when the scheme changes.
import {signal} from "@preact/signals";
import {scheme} from "../app/scheme";

export const repaint = signal(0);

const probe = document.createElement("i");
probe.hidden = true;
document.body.append(probe);

/** A colour of scale.css as a canvas takes it: `light-dark()` is resolved only in a property. */
export function paint(name: string): string {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** The same with a share of it: 0.2 lets most of the ground through. */
export function thin(name: string, share: number): string {
  return paint(name).replace(/^rgb\(([^)]*)\)$/, (_, parts: string) => `rgba(${parts}, ${share})`);
}

const again = () => requestAnimationFrame(() => repaint.value++);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
scheme.subscribe(again);
