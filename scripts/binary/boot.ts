/** What the single binary begins with. */
import { getAsset, getRawAsset } from 'node:sea';
import { setFlagsFromString } from 'node:v8';
import { COMPILED_ASSET, loadProgram, PROGRAM_ASSET, runProgram } from './program.ts';

/**
 * Megabytes for what a thread made last. What the binary has for the event loop would count for all threads, whatever the bounds that
 * they begin with, and three of them would take 12 MB more.
 */
const THREADS_SEMI_SPACE_MB = 1;

const script = loadProgram(getAsset(PROGRAM_ASSET, 'utf8'), Buffer.from(getRawAsset(COMPILED_ASSET)));
// Not before: what was compiled is of use with the flags alone that it was compiled with.
setFlagsFromString(`--max-semi-space-size=${THREADS_SEMI_SPACE_MB}`);
runProgram(script, require);
