/** `node scripts/install-missing.mjs`: installs the packages that running needs, where they are missing. */
import { installMissing } from './install.mjs';

installMissing({ development: false });
