/**
 * On which databases the tests of a file run besides SQLite. A test file calls these once each, at its top level, and scripts/suite.ts
 * reads the calls from the source. A repeat must show more than the run on SQLite: statements that PostgreSQL spells differently, locks,
 * several instances, or a connection that breaks. Pages and rules are the same on both.
 */

/** PostgreSQL itself, or PostgreSQL through PgBouncer in transaction mode. */
export type Repeat = 'postgres' | 'pgbouncer';

/** `npm test` repeats the tests of this file. */
export function repeats(..._on: [Repeat, ...Repeat[]]): void {}

/** `npm run test:slow` repeats the tests of this file. */
export function repeatsInSlowTier(..._on: [Repeat, ...Repeat[]]): void {}

const CALL = /^(repeats|repeatsInSlowTier)\(([^)]*)\);$/gm;

/** The calls in the source of a test file. */
export function repeatsOf(source: string): { readonly fast: readonly Repeat[]; readonly slow: readonly Repeat[] } {
  const calls = [...source.matchAll(CALL)].map(([, tier = '', list = '']) => ({ tier, on: list.match(/\w+/g) ?? [] }));
  const of = (name: string) => calls.filter(({ tier }) => tier === name).flatMap(({ on }) => on as Repeat[]);
  return { fast: of('repeats'), slow: of('repeatsInSlowTier') };
}
