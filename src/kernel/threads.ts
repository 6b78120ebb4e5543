/**
 * How many threads the process has for what would hold up its loop: looking names up, gzip, files. Imported before all else, since
 * the first such work makes them. Node's 4 could all be waiting for name servers; what `UV_THREADPOOL_SIZE` says is kept.
 */
import { THREADS } from './limits/limits.ts';

process.env.UV_THREADPOOL_SIZE ??= String(THREADS);
