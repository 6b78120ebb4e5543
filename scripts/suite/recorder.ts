/**
 * Loaded before all tests. If `TEST_STATEMENTS` names a file, every store of this process notes its statements, and the process appends
 * them as lines of JSON when it ends. scripts/suite/unproved-statements.ts compares the databases.
 */
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const RECORDED = new URL('../../test/support/recorded-store.ts', import.meta.url).href;
const STORES = ['shared', 'sqlite', 'postgres'].map(
  (room) => new URL(`../../src/store/${room}/store.ts`, import.meta.url).href,
);

const { TEST_STATEMENTS: path } = process.env;
if (path !== undefined) {
  registerHooks({
    resolve: (specifier, context, next) => {
      const found = next(specifier, context);
      return STORES.includes(found.url) && context.parentURL !== RECORDED ? { ...found, url: RECORDED } : found;
    },
  });
  const { ranStatements } = await import('../../test/support/recorded-store.ts');
  process.once('exit', () => {
    for (const ran of ranStatements()) appendFileSync(path, `${JSON.stringify(ran)}\n`);
  });
}
