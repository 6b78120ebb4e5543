/** What the single binary begins with. */
import { getAsset, getRawAsset } from 'node:sea';
import { COMPILED_ASSET, PROGRAM_ASSET, runProgram } from './program.ts';

runProgram(getAsset(PROGRAM_ASSET, 'utf8'), Buffer.from(getRawAsset(COMPILED_ASSET)), require);
