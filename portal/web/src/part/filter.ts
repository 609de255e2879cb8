// The filter of a table, in the words that API and haasctl take too (docs/filter.md, portal/server/filter_wire.c; tests/data/filter.json holds them to
// each other): `state:free,held rack=r07 -label:fan unit<=12 since>2h "two words"`.
export interface Filtered<T> {
  name: string;
  value: (row: T) => string | number | boolean | null;
}

export interface Word {
  not: boolean;
  /** "" looks in all columns. */
  operation: "" | ":" | "=" | "<" | "<=" | ">" | ">=";
  column: string;
  /** All of it behind the minus, without quotes. */
  whole: string;
  values: string[];
}

/** Words are apart by blanks outside of quotes; an open quote goes to the end. */
function cut(text: string): string[] {
  return text.match(/(?:"[^"]*(?:"|$)|[^ \t"])+/g) ?? [];
}

function valuesOf(text: string): string[] {
  const values = (text.match(/(?:"[^"]*(?:"|$)|[^,"])+/g) ?? []).map((one) => one.replaceAll('"', "")).filter((one) => one !== "");
  return values.length ? values : [""];
}

export function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  for (const one of cut(text)) {
    const not = one.startsWith("-") && one.length > 1;
    const bare = not ? one.slice(1) : one;
    const whole = bare.replaceAll('"', "");
    const named = /^([a-z_]+)(<=|>=|<|>|:|=)([^]*)$/i.exec(bare);
    if (named) words.push({not, operation: named[2] as Word["operation"], column: named[1]!.toLowerCase(), whole, values: valuesOf(named[3]!)});
    else if (whole !== "") words.push({not, operation: "", column: "", whole, values: [whole]});
  }
  return words;
}

const AGE = /^(\d{1,5})([smhd])$/;
const SECONDS: Record<string, number> = {s: 1, m: 60, h: 3600, d: 86400};

function compare(operation: Word["operation"], left: number, right: number): boolean {
  if (operation === "<") return left < right;
  if (operation === "<=") return left <= right;
  if (operation === ">") return left > right;
  if (operation === ">=") return left >= right;
  return left === right;
}

function glob(pattern: string, text: string): boolean {
  const made = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", "[^]*").replaceAll("?", "[^]");
  return new RegExp(`^${made}$`).test(text);
}

function fits(word: Word, wanted: string, value: string | number | boolean | null): boolean {
  if (wanted === "") return word.operation === "=" ? value === null || value === "" : true;
  if (value === null) return false;
  if (typeof value === "boolean") return value === ["yes", "true"].includes(wanted);
  if (typeof value === "number") return /^-?\d+(\.\d+)?$/.test(wanted) && compare(word.operation, value, Number(wanted));
  if (word.operation === ":") return value.toLowerCase().includes(wanted.toLowerCase());
  if (word.operation === "=") return /[*?]/.test(wanted) ? glob(wanted, value) : value === wanted;
  const age = AGE.exec(wanted);
  const at = Date.parse(value);
  // "since>2h" is older than two hours.
  if (age) return compare(word.operation, Date.now() - at, Number(age[1]) * SECONDS[age[2]!]! * 1000);
  return compare(word.operation, at, Date.parse(wanted));
}

/** The filter of these columns: its words are read once. */
export function filterOf<T>(text: string, columns: Filtered<T>[]): (row: T) => boolean {
  const words = wordsOf(text).map((word) => ({...word, of: columns.find((one) => one.name === word.column), whole: word.whole.toLowerCase()}));
  return (row) => words.every((word) => {
    const {of} = word;
    if (of) return word.values.some((wanted) => fits(word, wanted, of.value(row))) !== word.not;
    // "leaf3:c17" is a port; "stat=free" a slip that lets nothing through, as the API refuses it.
    if (word.column && word.operation !== ":") return false;
    return columns.some((one) => String(one.value(row) ?? "").toLowerCase().includes(word.whole)) !== word.not;
  });
}

export function matches<T>(text: string, row: T, columns: Filtered<T>[]): boolean {
  return filterOf(text, columns)(row);
}
