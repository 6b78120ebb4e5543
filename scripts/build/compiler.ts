/** How TypeScript's compiler is run. */
import { join, resolve } from 'node:path';

/** In one thread and without garbage collection, it needs half the processor time. */
export const COMPILER = {
  args: [
    join(resolve(import.meta.dirname, '..', '..'), 'node_modules', 'typescript', 'bin', 'tsc'),
    '--singleThreaded',
  ],
  env: { GOGC: 'off', GOMEMLIMIT: '3GiB' },
} as const;
