/** The statements that one run of the store's verbs executes, for each database. */
import { it } from 'node:test';
import { guard } from '../support/guards.ts';
import { repeats } from '../support/repeats.ts';
import { onPostgres } from '../support/store.ts';
import { runVerbs } from '../support/verb-run.ts';

repeats('postgres');

const FILE = onPostgres ? 'statements-of-postgresql.sql' : 'statements-of-sqlite.sql';

it('the verbs of the store run the same statements', async (t) => {
  const { texts, missing } = await runVerbs(t);
  const lines = [...missing.map((verb) => `-- not called: ${verb}`), ...texts.map((text) => `${text};`)];
  guard(FILE, `${lines.join('\n')}\n`);
});
