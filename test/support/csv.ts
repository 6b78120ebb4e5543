const ESCAPED = /(?<=^|[;,|\t\r\n])'(?=['"\s]*[=+\-@\t\r＝﹦⁼₌⩵⩶＋﹢⁺₊﬩－﹣⁻₋−＠﹫])/gu;

/** Reads CSV (RFC 4180). `texts` are without the apostrophes before what a spreadsheet would take for a formula. */
export function readCsv(csv: string): { readonly cells: string[][]; readonly texts: string[][] } {
  const cells: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < csv.length) {
    let cell = '';
    if (csv[at] === '"') {
      for (at += 1; csv[at] !== '"' || csv[at + 1] === '"'; at += 1) {
        if (at >= csv.length) throw new Error('a quoted cell has no end');
        if (csv[at] === '"') at += 1;
        cell += csv[at];
      }
      at += 1;
    } else {
      const end = /,|\r\n/.exec(csv.slice(at))?.index ?? csv.length - at;
      cell = csv.slice(at, at + end);
      at += end;
    }
    row.push(cell);
    if (csv[at] === ',') {
      at += 1;
      continue;
    }
    if (csv.slice(at, at + 2) !== '\r\n') throw new Error(`no end of a cell at ${at}`);
    at += 2;
    cells.push(row);
    row = [];
  }
  const texts = cells.map((line) => line.map((cell) => cell.replace(ESCAPED, '')));
  return { cells, texts };
}
