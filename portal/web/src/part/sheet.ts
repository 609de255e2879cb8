// A table as text (RFC 4180) to rows of cells.
export function cellsOf(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  const endCell = () => {
    row.push(cell);
    cell = "";
  };
  for (let at = 0; at < text.length; at++) {
    const one = text[at]!;
    if (quoted) {
      if (one !== '"') cell += one;
      else if (text[at + 1] === '"') cell += text[++at];
      else quoted = false;
    } else if (one === '"' && cell === "") {
      quoted = true;
    } else if (one === ",") {
      endCell();
    } else if (one === "\n" || one === "\r") {
      if (one === "\r" && text[at + 1] === "\n") at++;
      endCell();
      rows.push(row);
      row = [];
    } else {
      cell += one;
    }
  }
  if (cell !== "" || row.length > 0) {
    endCell();
    rows.push(row);
  }
  return rows;
}
