/** What the two npm packages are made with: JavaScript and types from the sources, and a package.json that says where they are. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const root: string = resolve(import.meta.dirname, '..', '..');

/** An empty folder in place of whatever was there. */
export function emptyFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

/** What of the language and its library the code may use. */
type Edition = 'es2023' | 'es2024';

/**
 * JavaScript and types, one file of each for every source from the entries (below src/) to all that they import, so that a
 * reader finds in the package what is in the project.
 */
export function compile(entries: readonly string[], folder: string, edition: Edition): void {
  const settings = join(folder, 'tsconfig.json');
  writeFileSync(
    settings,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        target: edition,
        lib: [edition],
        noEmit: false,
        rootDir: join(root, 'src'),
        outDir: folder,
        typeRoots: [join(root, 'node_modules', '@types')],
      },
      files: entries.map((entry) => join(root, 'src', entry)),
      include: [],
    }),
  );
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [compiler, '-p', settings], { stdio: 'inherit' });
  rmSync(settings);
  // The compiler gives imports the new ending in code alone.
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue;
    const file = join(folder, name);
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replaceAll(/((?:from |import\()['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js'),
    );
  }
}

/** On pages, what links to files of the project that are not in the package keeps its words and loses the link. */
export function unlinkMissing(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.md')) continue;
    const file = join(folder, name);
    const text = readFileSync(file, 'utf8').replaceAll(
      /\[([^\]]+)\]\((?!#|\w+:)([^)#]+)[^)]*\)/g,
      (link, words: string, path: string) => (existsSync(join(dirname(file), path)) ? link : words),
    );
    writeFileSync(file, text);
  }
}

/** What a program that imports `path` gets, without its ending: the compiled code, and its types. */
export function entry(path: string): { readonly types: string; readonly default: string } {
  return { types: `${path}.d.ts`, default: `${path}.js` };
}

export function writeJson(file: string, content: object): void {
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}
