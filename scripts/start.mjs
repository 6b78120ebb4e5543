/** `npm start`: installs what is missing, then serves, again after a failure. Further arguments go to `sallyport serve`. */

import { join } from 'node:path';
import { installMissing, root } from './install.mjs';
import { launch, RESTARTS } from './launch.mjs';

installMissing({ development: false });
launch(join(root, 'src', 'main.ts'), ['serve', ...process.argv.slice(2)], { restarts: RESTARTS });
