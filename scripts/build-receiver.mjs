/** `npm run build:receiver`: installs what is missing, then runs scripts/build-receiver.ts with the project's Node. */

import { join } from 'node:path';
import { installMissing, root } from './install.mjs';
import { launch } from './launch.mjs';

installMissing({ development: true });
launch(join(root, 'scripts', 'build-receiver.ts'), process.argv.slice(2));
