/** The entry point of the single binary. */
import { getAsset, getRawAsset } from 'node:sea';
import { setFlagsFromString } from 'node:v8';
import { COMPILED_ASSET, loadProgram, PROGRAM_ASSET, runProgram } from './program.ts';

/**
 * The young generation of each thread, in megabytes. The flag of the main thread would apply to all threads, whatever limits they are
 * started with, and three threads would take 12 MB more.
 */
const THREADS_SEMI_SPACE_MB = 1;

const script = loadProgram(getAsset(PROGRAM_ASSET, 'utf8'), Buffer.from(getRawAsset(COMPILED_ASSET)));
// Only now: V8 rejects the compiled code if the flags differ from those of its compilation.
setFlagsFromString(`--max-semi-space-size=${THREADS_SEMI_SPACE_MB}`);
runProgram(script, require);
