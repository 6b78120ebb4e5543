/**
 * Sets the number of threads for DNS, gzip and files. Import it first, because the first such operation creates the threads. All 4 of
 * Node's default could wait for name servers. A given `UV_THREADPOOL_SIZE` is kept.
 */

/** Threads for blocking operations. DNS lookups, which may take long, leave eight of them for everything else. */
export const THREADS = 40;

process.env.UV_THREADPOOL_SIZE ??= String(THREADS);
