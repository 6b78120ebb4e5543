/**
 * The program inside the single binary: its text, and what V8 compiled of that while a service started and stopped. With what Node compiles
 * beforehand by itself, which is no function before it is called, a start took 100 ms longer.
 */
import { Script } from 'node:vm';

export const PROGRAM_ASSET = 'program.js';
export const COMPILED_ASSET = 'program.compiled';

/** The bundle is a function of these, as a CommonJS module is. */
export const WRAPPER = ['(function (require, module, exports) {', '\n})'] as const;

type Program = (require: NodeJS.Require, module: { exports: unknown }, exports: unknown) => void;

/** Has V8 read it. What was compiled by another version of V8, or with other flags, is left aside and compiled anew. */
export function loadProgram(text: string, compiled?: Buffer): Script {
  return new Script(text, { filename: PROGRAM_ASSET, ...(compiled && { cachedData: compiled }) });
}

export function runProgram(script: Script, require: NodeJS.Require): void {
  const program = script.runInThisContext() as Program;
  const module = { exports: {} };
  program(require, module, module.exports);
}
