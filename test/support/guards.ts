/**
 * Compares what the program makes with the files of test/guards/, so that a change shows as a diff. `npm run guards` writes the files.
 * Nothing in them may differ between two runs of the same code.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../../src/kernel/version.ts';

const FOLDER = fileURLToPath(new URL('../guards/', import.meta.url));
const isWriting = process.env.GUARDS === 'write';

/** Compares one text with `test/guards/<name>`. */
export function guard(name: string, text: string): void {
  const file = join(FOLDER, name);
  if (isWriting) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return;
  }
  const kept = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (kept === text) return;
  assert.fail(`test/guards/${name} differs from what the code makes now.\n${difference(kept, text)}\n${ADVICE}`);
}

/** Compares a set of texts with all files of `test/guards/<folder>/`. A file that has no text any more fails too. */
export function guardFolder(folder: string, texts: ReadonlyMap<string, string>): void {
  const path = join(FOLDER, folder);
  const extra = (existsSync(path) ? readdirSync(path) : []).filter((name) => !texts.has(name));
  if (isWriting) for (const name of extra) rmSync(join(path, name), { recursive: true });
  else assert.deepEqual(extra, [], `test/guards/${folder}/ has files that the code does not make any more. ${ADVICE}`);
  const problems = [...texts].flatMap(([name, text]) => {
    try {
      guard(`${folder}/${name}`, text);
      return [];
    } catch (error) {
      return [error as Error];
    }
  });
  const [first] = problems;
  if (first === undefined) return;
  const more = problems.length === 1 ? '' : `\n${problems.length - 1} more files of test/guards/${folder}/ differ.`;
  assert.fail(first.message + more);
}

/** Replaces what differs between versions, machines and ports. */
export function normalised(text: string): string {
  return text.replaceAll(VERSION, '{version}').replaceAll(/\b(127\.0\.0\.1|localhost)(:|%3A)\d+/gi, '$1$2{port}');
}

/** JSON in which a value that fits on a line takes one. */
export function readableJson(value: unknown, indent = ''): string {
  const short = JSON.stringify(value);
  if (typeof value !== 'object' || value === null || short.length + indent.length <= COLUMNS) return short;
  const isList = Array.isArray(value);
  const inner = `${indent} `;
  const lines = Object.entries(value).map(
    ([name, member]) => `${inner}${isList ? '' : `${JSON.stringify(name)}: `}${readableJson(member, inner)}`,
  );
  return `${isList ? '[' : '{'}\n${lines.join(',\n')}\n${indent}${isList ? ']' : '}'}`;
}

const COLUMNS = 120;
const ADVICE = 'If the change is intended, run npm run guards and commit the difference.';
const BEFORE = 3;
const LINES_MAX = 12;

/** The lines between the first and the last difference, as `diff -u` shows them, cut to a readable number. */
function difference(kept: string, made: string): string {
  const [old, now] = [kept.split('\n'), made.split('\n')];
  let from = 0;
  while (from < old.length && from < now.length && old[from] === now[from]) from += 1;
  let same = 0;
  while (same < Math.min(old.length, now.length) - from && old.at(-1 - same) === now.at(-1 - same)) same += 1;
  const cut = (lines: readonly string[], sign: string): string[] => {
    const changed = lines.slice(from, lines.length - same).map((line) => `${sign}${line}`);
    const left = changed.length - LINES_MAX;
    return left <= 0 ? changed : [...changed.slice(0, LINES_MAX), `${sign}… ${left} more lines`];
  };
  const start = Math.max(0, from - BEFORE);
  const context = old.slice(start, from).map((line) => ` ${line}`);
  return [`line ${from + 1}:`, ...context, ...cut(old, '-'), ...cut(now, '+')].join('\n');
}
