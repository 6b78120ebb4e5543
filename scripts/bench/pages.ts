/**
 * How long the service takes for each page of both portals, with the six days of life of `npm run demo -- --keep`: from the request to the
 * last byte, over a connection that is open. Run: `npm run bench:pages`. docs/portal.md has the slowest. Exits with 1 if the median of a
 * page is above its limit.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { customersPages, shownPages } from '../../test/support/portal-pages.ts';
import { type SeededIds, seededPath } from '../../test/support/portal-seed.ts';
import { spread } from './report/statistics.ts';

const LIMIT_MS = 50;
const ROUNDS = 25;
const SHOWN = 8;

type Visitor = { readonly portal: string; readonly cookie: string };
type Timed = { readonly path: string; readonly median: number; readonly most: number };

const root = resolve(import.meta.dirname, '../..');
const demo = spawn(process.execPath, ['scripts/demo.ts', '--keep'], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const [door = '', link = ''] = await linksOf(demo);
  const operator = await enter(door);
  const customer = await enter(link);
  const paths = shownPages().map(({ path }) => path);
  const theirs = customersPages().flatMap(({ method, path, isBackground }) =>
    method === 'GET' && !isBackground && !path.endsWith('.csv') ? [path] : [],
  );
  const slow = [
    ...(await measure('the operator’s portal', operator, paths)),
    ...(await measure('the portal of a customer', customer, theirs)),
  ];
  process.stdout.write(slow.length === 0 ? `Every page is within ${LIMIT_MS} ms.\n` : `Too slow: ${slow.join(', ')}\n`);
  process.exitCode = slow.length === 0 ? 0 : 1;
} finally {
  demo.kill('SIGINT');
}

/** The link for the administrator and the one of the second customer, whose receivers fail. */
function linksOf({ stdout }: ChildProcess): Promise<string[]> {
  return new Promise((found, failed) => {
    let text = '';
    stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const links = text.match(/http:\/\/localhost:\d+\/\S+/g) ?? [];
      if (text.includes('Ctrl-C')) found([links[0] ?? '', links[2] ?? '']);
    });
    stdout?.once('end', () => failed(new Error(`the demo ended: ${text}`)));
  });
}

async function enter(link: string): Promise<Visitor> {
  const answer = await fetch(link, { redirect: 'manual' });
  const cookie = answer.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ');
  if (cookie === '') throw new Error(`${link} opened no session: ${answer.status}`);
  return { portal: new URL(answer.headers.get('location') ?? '/', link).origin, cookie };
}

/** Prints the slowest pages, and returns those above the limit. */
async function measure(name: string, visitor: Visitor, paths: readonly string[]): Promise<string[]> {
  const ids = await idsOf(visitor, paths);
  const timed: Timed[] = [];
  for (const path of paths) {
    const filled = seededPath(path, ids);
    if (filled !== null) timed.push(...(await timesOf(visitor, path, filled)));
  }
  timed.sort((one, other) => other.median - one.median);
  const rows = timed.slice(0, SHOWN).map(({ path, median, most }) => `| \`${path}\` | ${ms(median)} | ${ms(most)} |`);
  const middle = timed[timed.length >> 1]?.median ?? 0;
  process.stdout.write(`\n${timed.length} pages of ${name}, the median page ${ms(middle)}; the slowest:\n\n`);
  process.stdout.write(`| page | median | slowest of ${ROUNDS} |\n|---|---:|---:|\n${rows.join('\n')}\n\n`);
  return timed.filter(({ median }) => median > LIMIT_MS).map(({ path }) => path);
}

/** A resource of each kind that the list of its kind links to. */
async function idsOf(visitor: Visitor, paths: readonly string[]): Promise<SeededIds> {
  const lists = [...new Set(paths.filter((path) => path.includes('{id}')).map((path) => path.split('/{id}')[0] ?? ''))];
  const ids: Record<string, string> = {};
  for (const list of lists) {
    const { text } = await get(visitor, list);
    const id = new RegExp(`href="${list}/([0-9a-f]{8}-[0-9a-f-]{27})"`).exec(text)?.[1];
    if (id !== undefined) ids[list] = id;
  }
  return ids;
}

async function timesOf(visitor: Visitor, path: string, filled: string): Promise<Timed[]> {
  const first = await get(visitor, filled);
  if (first.status !== 200) return [];
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push((await get(visitor, filled)).ms);
  return [{ path, ...spread(times) }];
}

async function get({ portal, cookie }: Visitor, path: string): Promise<{ status: number; text: string; ms: number }> {
  const began = performance.now();
  const answer = await fetch(portal + path, { headers: { cookie }, redirect: 'manual' });
  const text = await answer.text();
  return { status: answer.status, text, ms: performance.now() - began };
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}
