/** `node scripts/install-missing.mjs` installs the packages that the service needs, if any are missing. */
import { installMissing } from './install.mjs';

installMissing({ development: false });
