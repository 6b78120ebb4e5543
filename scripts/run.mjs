/** `node scripts/run.mjs <file> <arguments…>`: installs what is missing, then runs the file with the project's Node. */

import { installMissing } from './install.mjs';
import { launch } from './launch.mjs';

const [file, ...args] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('usage: node scripts/run.mjs <file> <arguments…>\n');
  process.exit(2);
}
installMissing({ development: false });
launch(file, args);
