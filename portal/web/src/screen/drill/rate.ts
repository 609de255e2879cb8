// Rates and bounds as people read them, the same texts as haasctl drill (portal/cli/drill/drill_page.c).

const UNITS = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];

export interface Sums {
  bytes: number;
  bytes_low: number;
  bytes_high: number;
  bits_per_second: number;
}

/** Number and unit apart: the unit is quiet beside it. `like`: in the unit of another. */
export function rateParts(bits: number, like = bits): [string, string] {
  let unit = 0;
  while (Math.abs(like) >= 999.95 && unit + 1 < UNITS.length) {
    like /= 1000;
    bits /= 1000;
    unit++;
  }
  return [unit ? bits.toFixed(1) : bits.toFixed(0), UNITS[unit]!];
}

export const rate = (bits: number) => rateParts(bits).join(" ");

/** Half the width of the bound, in bit/s. */
export function boundOf(sums: Sums): number {
  const widest = Math.max(sums.bytes - sums.bytes_low, sums.bytes_high - sums.bytes);
  return sums.bytes > 0 ? (sums.bits_per_second * widest) / sums.bytes : 0;
}

/** "± 31" in the unit of the rate; nothing is said of nothing. */
export function boundText(sums: Sums): string {
  if (sums.bytes === 0) return "";
  const [text] = rateParts(boundOf(sums), sums.bits_per_second);
  return `± ${Number(text) >= 10 ? Math.round(Number(text)) : text}`;
}

export const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

/** "+212 %" of a rate before; what was not there before is new. */
export function changeText(now: number, before: number | undefined): string {
  if (before === undefined) return "–";
  if (before === 0) return now === 0 ? "±0 %" : "new";
  const change = Math.round(((now - before) / before) * 100);
  return `${change > 0 ? "+" : change < 0 ? "−" : "±"}${Math.abs(change)} %`;
}


/** "1 Gbit/s": speeds are round. */
export function speed(bits: number): string {
  let unit = 0;
  while (bits >= 1000 && unit + 1 < UNITS.length) {
    bits /= 1000;
    unit++;
  }
  return `${Number(bits.toFixed(1))} ${UNITS[unit]}`;
}
