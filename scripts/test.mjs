/** `npm test`: installs what is missing, then runs scripts/test-suite.ts with the project's Node. */

import { join } from 'node:path';
import { installMissing, root } from './install.mjs';
import { launch } from './launch.mjs';

installMissing({ development: true });
launch(join(root, 'scripts', 'test-suite.ts'), process.argv.slice(2));
