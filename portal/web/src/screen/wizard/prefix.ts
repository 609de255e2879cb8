// Prefixes with room for the nodes of a PDCI: as pdci_body.c counts it, the first eighth is the tenant's own, the rest the nodes'.
export interface Prefix {
  base: number;
  length: number;
}

export function prefixOf(text: string): Prefix | undefined {
  const found = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(text.trim());
  if (!found) return undefined;
  const [a = 0, b = 0, c = 0, d = 0, length = 33] = found.slice(1).map(Number);
  if (Math.max(a, b, c, d) > 255 || length > 32) return undefined;
  return {base: ((a * 256 + b) * 256 + c) * 256 + d, length};
}

const size = (length: number) => 2 ** (32 - length);

export const room = (length: number) => (length > 29 ? 0 : size(length) - size(length) / 8 - 1);

const overlap = (a: Prefix, b: Prefix) => a.base < b.base + size(b.length) && b.base < a.base + size(a.length);

export function textOf({base, length}: Prefix): string {
  return `${[24, 16, 8, 0].map((shift) => Math.floor(base / 2 ** shift) % 256).join(".")}/${length}`;
}

const FIRST = 10 * 2 ** 24 + 50 * 2 ** 16;
const LAST = 10 * 2 ** 24 + 2 ** 24;

/** The first prefix from 10.50.0.0 on that has the room and overlaps none of those taken. */
export function freePrefix(nodes: number, taken: string[]): string | undefined {
  let length = 24;
  while (length > 8 && room(length) < nodes) length--;
  const others = taken.map(prefixOf).filter((one) => one !== undefined);
  for (let base = Math.ceil(FIRST / size(length)) * size(length); base < LAST; base += size(length)) {
    const one = {base, length};
    if (!others.some((other) => overlap(one, other))) return textOf(one);
  }
  return undefined;
}
