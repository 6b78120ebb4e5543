/**
 * The program inside the single binary: its source, and the code that V8 compiled while a service started and stopped. Node's own code
 * cache contains only functions that run at load time; with it, a start took 100 ms longer.
 */
import { Script } from 'node:vm';

export const PROGRAM_ASSET = 'program.js';
export const COMPILED_ASSET = 'program.compiled';

/** Wraps the bundle in a function, like a CommonJS module. */
export const WRAPPER = ['(function (require, module, exports) {', '\n})'] as const;

type Program = (require: NodeJS.Require, module: { exports: unknown }, exports: unknown) => void;

/** Loads the program. V8 ignores code that was compiled by another version or with other flags, and compiles again. */
export function loadProgram(text: string, compiled?: Buffer): Script {
  return new Script(text, { filename: PROGRAM_ASSET, ...(compiled && { cachedData: compiled }) });
}

export function runProgram(script: Script, require: NodeJS.Require): void {
  const program = script.runInThisContext() as Program;
  const module = { exports: {} };
  program(require, module, module.exports);
}
