/**
 * In a checkout Node removes the types of some 600 files and compiles them, a third of each start. Node keeps the result in a folder
 * for the next start.
 */
import { lstatSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { compiledCodePlace } from './assets.ts';

/** Deno has none of these. */
type CompileCache = Partial<Pick<typeof module, 'enableCompileCache' | 'flushCompileCache' | 'getCompileCacheDir'>>;
const { enableCompileCache, flushCompileCache, getCompileCacheDir }: CompileCache = module;

/**
 * Has Node use the folder for everything that is imported from now on, in all threads. Does nothing if `NODE_COMPILE_CACHE` names another
 * one, or if no folder is safe.
 */
export function useCompiledCode(): void {
  if (enableCompileCache === undefined || getCompileCacheDir?.() !== undefined) return;
  const folder = compiledCodeFolder();
  if (folder === null) return;
  enableCompileCache(folder);
  // For the threads.
  process.env.NODE_COMPILE_CACHE = folder;
}

/**
 * Returns the folder, which it makes if necessary. Null outside a checkout, if another user owns the packages or may read or write the
 * folder, and if nothing can be written there.
 */
export function compiledCodeFolder(): string | null {
  // Beside the packages, which are code too: `npm ci` removes it with them.
  const place = compiledCodePlace();
  if (place === null) return null;
  try {
    const user = process.geteuid?.();
    // Root, for example: its folder would be in the way of the owner.
    if (lstatSync(new URL('.', place)).uid !== user) return null;
    mkdirSync(place, { recursive: true, mode: 0o700 });
    // A link has another mode.
    const { uid, mode } = lstatSync(place);
    return uid === user && (mode & 0o777) === 0o700 ? fileURLToPath(place) : null;
  } catch {
    return null;
  }
}

/** Stores the code compiled until now. Node does it when a process ends, but not if it is killed. */
export function storeCompiledCode(): void {
  flushCompileCache?.();
}
