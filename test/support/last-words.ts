/** Logs a line and ends in the same turn: with status 3, or with an error if the argument is `crash`. With `many` it logs 1000 lines. */
import { createLog } from '../../src/observe/log.ts';

const [, , end] = process.argv;
// `node --test` runs this file without an argument.
if (end !== undefined) {
  const log = createLog('info');
  if (end === 'many') for (let n = 1; n < 1000; n += 1) log.info({ filling: 'x'.repeat(500) }, `word ${n}`);
  log.info('last words');
  if (end === 'crash') throw new Error('crash');
  process.exit(3);
}
