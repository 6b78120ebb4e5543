/**
 * `node scripts/run.mjs [--development] [--restart] [options of Node] [<file> <arguments…>]` installs missing packages, with
 * `--development` also those for tests, checks and builds, then runs the file with the project's Node. With `--restart` it runs it again
 * after a failure.
 *
 * The scripts of package.json call it, so that they run on a fresh checkout and beside an older Node. With Node 22.19 or newer and after
 * `npm install`, `node src/main.ts serve` and `node --test` do without it.
 */

import { installMissing } from './install.mjs';
import { launch, RESTARTS } from './launch.mjs';

const args = process.argv.slice(2);
const file = args.findIndex((arg) => !arg.startsWith('--'));
const options = file === -1 ? args : args.slice(0, file);
installMissing({ development: options.includes('--development') });
if (file !== -1) {
  const nodeOptions = options.filter((option) => option !== '--development' && option !== '--restart');
  launch([...nodeOptions, ...args.slice(file)], { restarts: options.includes('--restart') ? RESTARTS : null });
}
