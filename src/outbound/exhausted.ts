/** Errors of a machine or process that has no resources left for a connection: file descriptors, memory. */

export const EXHAUSTED = /^(?:EMFILE|ENFILE|ENOMEM|ENOBUFS|EAI_MEMORY|OUT_OF_MEM)$/;

export function isExhausted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && EXHAUSTED.test(error.code);
}
