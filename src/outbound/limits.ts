/** Bounds that several files of this folder share. */

/** The head of a response (contract §5.8). */
export const RESPONSE_HEADER_BYTES: number = 16 * 1024;

/** As many as requests in flight: many customers may share one origin, and none waits for another. */
export const CONNECTIONS_PER_ORIGIN_MAX = 256;

/** Time to connect to one of several addresses before trying the next. Node's 250 ms are too short for distant receivers. */
export const ADDRESS_ATTEMPT_MS = 1000;
export const PROXY_ADDRESSES_TRIED = 4;
