/** `npm start` installs missing packages and runs `sallyport serve` with the other arguments. */

import { join } from 'node:path';
import { installMissing, root } from './install.mjs';
import { launch } from './launch.mjs';

installMissing({ development: false });
launch(join(root, 'src', 'main.ts'), ['serve', ...process.argv.slice(2)]);
