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

/** Runs it. What was compiled by another version of V8, or with other flags, is left aside and compiled anew. */
export function runProgram(text: string, compiled: Buffer | undefined, require: NodeJS.Require): Script {
  const script = new Script(text, { filename: PROGRAM_ASSET, ...(compiled && { cachedData: compiled }) });
  const program = script.runInThisContext() as Program;
  const module = { exports: {} };
  program(require, module, module.exports);
  return script;
}
