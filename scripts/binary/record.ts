/**
 * Runs the program as the single binary would, and writes the code that V8 compiled when it ends. The first argument is a JSON file with
 * `assets` (the file of each) and `output`. The other arguments are the program's.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type sea from 'node:sea';
import { loadProgram, PROGRAM_ASSET, runProgram } from './program.ts';

type Recording = { readonly assets: Readonly<Record<string, string>>; readonly output: string };

const { assets, output } = JSON.parse(readFileSync(process.argv.splice(2, 1)[0] ?? '', 'utf8')) as Recording;
const require = createRequire(import.meta.url);

// Replaces `node:sea`: here the assets come from files.
const inside = require('node:sea') as { -readonly [name in keyof typeof sea]: unknown };
const bytes = (name: string): Uint8Array => Uint8Array.from(readFileSync(assets[name] ?? ''));
inside.isSea = () => true;
inside.getAsset = (name: string) => Buffer.from(bytes(name)).toString();
inside.getRawAsset = (name: string) => bytes(name).buffer;

const script = loadProgram(readFileSync(assets[PROGRAM_ASSET] ?? '', 'utf8'));
runProgram(script, require);
process.once('exit', () => writeFileSync(output, script.createCachedData()));
