// What pictures of links have in common: the width there is, and arrows that go to the nearest link on that side. Tab takes one link of the picture.
import type {RefObject} from "preact";
import {useLayoutEffect, useState} from "preact/hooks";

const SIDES: Record<string, [x: number, y: number]> = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

/** Pixels; 0 until it is laid out. */
export function useWidth(of: RefObject<HTMLElement>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(of.current!);
    return () => observer.disconnect();
  }, []);
  return width;
}

function middle(link: Element): [number, number] {
  const {left, top, width, height} = (link.querySelector("[data-middle]") ?? link).getBoundingClientRect();
  return [left + width / 2, top + height / 2];
}

/** For the picture's onKeyDown. What lies aside counts three times as far. */
export function byArrows(event: KeyboardEvent) {
  const side = SIDES[event.key];
  const from = document.activeElement;
  const picture = event.currentTarget as Element;
  if (!side || !from || !picture.contains(from) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const [x0, y0] = middle(from);
  let [nearest, least] = [from as HTMLElement, Infinity];
  for (const link of picture.querySelectorAll<HTMLElement>("a")) {
    const [x, y] = middle(link);
    const along = (x - x0) * side[0] + (y - y0) * side[1];
    const far = along + 3 * Math.abs((x - x0) * side[1] + (y - y0) * side[0]);
    if (along > 1 && far < least) [nearest, least] = [link, far];
  }
  nearest.focus();
}

/** For the onFocusIn of the picture: Tab comes back to where one was. */
export function keepTab(event: FocusEvent) {
  for (const link of (event.currentTarget as Element).querySelectorAll("a")) link.setAttribute("tabindex", link === event.target ? "0" : "-1");
}
