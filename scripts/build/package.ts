/** Shared by the builds of the two npm packages: JavaScript and types from the sources, and a package.json. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { COMPILER } from './compiler.ts';

export const root: string = resolve(import.meta.dirname, '..', '..');

/** For package.json: `npm publish` from a CI that supports it then states where the package was built. */
export const PUBLISHED = { publishConfig: { access: 'public', provenance: true } } as const;

/** Packs the folder of a package next to it. Returns the file. */
export function pack(folder: string): string {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', dirname(folder)], { cwd: folder, encoding: 'utf8' }),
  ) as [{ readonly filename: string }];
  return join(dirname(folder), packed.filename);
}

/** Builds the receiver's package, `RECEIVER_PACKAGE`, in a folder. */
export function packReceiver(folder: string): void {
  const built = join(folder, 'receiver');
  const script = join(root, 'scripts', 'build-receiver.ts');
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', script, built], { stdio: 'pipe' });
  pack(built);
  rmSync(built, { recursive: true, force: true });
}

/** Replaces the folder with an empty one. */
export function emptyFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

/** The edition of the language and its library that the code may use. */
type Edition = 'es2023' | 'es2024';

/**
 * Compiles the entries (paths below src/) and everything that they import to one JavaScript file and one file of types each, so that the
 * package has the layout of the project.
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
  const env = { ...process.env, ...COMPILER.env };
  execFileSync(process.execPath, [...COMPILER.args, '-p', settings], { stdio: 'inherit', env });
  rmSync(settings);
  // The compiler rewrites the endings of imports only in code, not in types.
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue;
    const file = join(folder, name);
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replaceAll(/((?:from |import\()['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js'),
    );
  }
}

/** Removes links in pages to files that are not in the package, and keeps their text. */
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

/** An entry of `exports` for `path`, which has no ending: the types and the code. */
export function entry(path: string): { readonly types: string; readonly default: string } {
  return { types: `${path}.d.ts`, default: `${path}.js` };
}

export function writeJson(file: string, content: object): void {
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}
