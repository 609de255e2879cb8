// Sizes as people type them, and as a form shows them.
import {Refusal} from "../api/client";

const SHIFTS: Record<string, number> = {"": 0, k: 10, M: 20, G: 30, T: 40};

/** As haasctl reads it: 10G, 512M or bytes. */
export function sizeOf(word: string): number {
  const found = /^(\d{1,15})([kMGT]?)(?:iB)?$/.exec(word.trim());
  const size = Number(found?.[1] ?? 0) * 2 ** (SHIFTS[found?.[2] ?? ""] ?? 0);
  if (size <= 0) throw new Refusal(422, {title: `"${word}" is not a size`, hint: "10G, 512M or bytes"});
  return size;
}

/** 20T where that is exactly it, else bytes. */
export function sizeText(size: number): string {
  for (const unit of ["T", "G", "M"]) if (size % 2 ** SHIFTS[unit]! === 0) return `${size / 2 ** SHIFTS[unit]!}${unit}`;
  return String(size);
}
