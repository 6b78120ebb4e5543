/** A program that logs, and ends in the same turn: with status 3, or by an error where its argument is `crash`. */
import { createLog } from '../../src/log.ts';

createLog('info').info('last words');
if (process.argv[2] === 'crash') throw new Error('crash');
process.exit(3);
