/**
 * `node scripts/run.mjs [--development] <file> <arguments…>` installs missing packages, with `--development` also those for tests, checks
 * and builds, then runs the file with the project's Node.
 */

import { installMissing } from './install.mjs';
import { launch } from './launch.mjs';

const development = process.argv[2] === '--development';
const [file, ...args] = process.argv.slice(development ? 3 : 2);
if (file === undefined) {
  process.stderr.write('usage: node scripts/run.mjs [--development] <file> <arguments…>\n');
  process.exit(2);
}
installMissing({ development });
launch(file, args);
