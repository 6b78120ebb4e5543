/** Draws how a run went, minute by minute, as an SVG for a page. */

/** The figures of one minute. CPU time is that of an event. */
export type Minute = {
  readonly minute: number;
  readonly perSecond: number;
  readonly latencyMs: number;
  readonly serviceMicros: number;
  readonly postgresMicros: number;
};

const [WIDTH, HEIGHT, LEFT, TOP] = [720, 120, 56, 34];
const SERVICE = '#2563eb';
const POSTGRES = '#b45309';

type Line = { readonly name: string; readonly colour: string; of(row: Minute): number };
type Panel = { readonly title: string; readonly lines: readonly Line[] };

const PANELS: readonly Panel[] = [
  { title: 'Events published a second', lines: [{ name: '', colour: SERVICE, of: (row) => row.perSecond }] },
  {
    title: 'CPU time of an event, µs',
    lines: [
      { name: 'Sallyport', colour: SERVICE, of: (row) => row.serviceMicros },
      { name: 'PostgreSQL', colour: POSTGRES, of: (row) => row.postgresMicros },
    ],
  },
];

/** Two panels over the same minutes. `held`: when the snapshot was held, in minutes, drawn as a band. */
export function drawMinutes(rows: readonly Minute[], held: { readonly from: number; readonly to: number }): string {
  const minutes = rows.length;
  const x = (minute: number): number => LEFT + (minute / minutes) * WIDTH;
  const panels = PANELS.map((panel, at) => {
    const top = TOP + at * (HEIGHT + 62);
    const most = niceMaximum(Math.max(...panel.lines.flatMap(({ of }) => rows.map(of))));
    const y = (value: number): number => top + HEIGHT - (value / most) * HEIGHT;
    const ticks = [0, most / 2, most].map(
      (value) =>
        `<path d="M${LEFT} ${y(value)}h${WIDTH}" stroke="#8888" stroke-width="0.5"/>` +
        `<text x="${LEFT - 8}" y="${y(value) + 4}" text-anchor="end">${value}</text>`,
    );
    const lines = panel.lines.map(({ colour, of }) => {
      const points = rows.map((row) => `${x(row.minute - 0.5).toFixed(1)},${y(of(row)).toFixed(1)}`);
      return `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`;
    });
    const names = panel.lines.map(
      ({ name, colour }, n) =>
        `<text x="${LEFT + WIDTH - 170 + n * 90}" y="${top - 10}" fill="${colour}">${name}</text>`,
    );
    const band = `<rect x="${x(held.from)}" y="${top}" width="${x(held.to) - x(held.from)}" height="${HEIGHT}" fill="#8882"/>`;
    const title = `<text x="${LEFT}" y="${top - 10}" font-weight="600">${panel.title}</text>`;
    return [band, ...ticks, ...lines, title, ...names].join('\n');
  });
  const bottom = TOP + 2 * HEIGHT + 62;
  const hours = Array.from({ length: 7 }, (_, n) => Math.round((n * minutes) / 6));
  const axis = hours.map((minute) => `<text x="${x(minute)}" y="${bottom + 18}" text-anchor="middle">${minute}</text>`);
  const note = `<text x="${LEFT}" y="${bottom + 38}">minute; the snapshot is held in the grey part</text>`;
  const [width, height] = [LEFT + WIDTH + 24, bottom + 50];
  const look = 'font-family="system-ui, sans-serif" font-size="12" fill="#777"';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ${look}>
<title>Events a second and CPU time of an event while a snapshot is held</title>
${[...panels, ...axis, note].join('\n')}
</svg>
`;
}

/** The least of 1, 2, 5, 10, 20 … that is at least the value. */
function niceMaximum(value: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 5, 10].map((step) => step * magnitude).find((step) => step >= value) ?? value;
}
