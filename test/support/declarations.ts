/** Reads the declarations (.d.ts) of a program: what an entry exports, and every type that its exports name. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMPILER } from '../../scripts/build/compiler.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Writes the declarations of these files of src/, and of all that they import, to `folder`. */
export function emitDeclarations(files: readonly string[], folder: string): void {
  const given = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as { compilerOptions: object };
  const options = { ...given.compilerOptions, noEmit: false, emitDeclarationOnly: true, removeComments: true };
  // `npm run check` has checked them.
  const flags = Object.entries({ ...options, noCheck: true, rootDir: 'src', outDir: folder }).flatMap(
    ([name, value]) => [`--${name}`, Array.isArray(value) ? value.join(',') : String(value)],
  );
  const { status, stdout } = spawnSync(
    process.execPath,
    [...COMPILER.args, '--ignoreConfig', ...flags, ...files.map((file) => join('src', file))],
    { cwd: root, encoding: 'utf8', env: { ...process.env, ...COMPILER.env } },
  );
  assert.equal(status, 0, stdout);
}

/** A name in a file of declarations. */
type Place = { readonly file: string; readonly name: string };

type Module = {
  readonly declared: ReadonlyMap<string, string>;
  readonly imported: ReadonlyMap<string, Place>;
  /** The exported names, with where they come from. */
  readonly exported: ReadonlyMap<string, Place>;
};

/**
 * The exported names of an entry, then each declaration that they need, sorted and without paths: moving a file changes nothing here.
 */
export function declarationsReport(folder: string, entry: string): string {
  const modules = new Map<string, Module>();
  const moduleOf = (file: string): Module => {
    const known = modules.get(file) ?? readModule(file);
    modules.set(file, known);
    return known;
  };
  const origin = ({ file, name }: Place): Place => {
    const { declared, exported } = moduleOf(file);
    const from = declared.has(name) ? undefined : exported.get(name);
    return from === undefined ? { file, name } : origin(from);
  };
  const { exported } = moduleOf(join(folder, entry));
  const found = new Map<string, { readonly name: string; readonly text: string }>();
  const waiting = [...exported.values()];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    const { file, name } = origin(place);
    const { declared, imported } = moduleOf(file);
    const text = declared.get(name);
    assert.ok(text !== undefined, `${file} does not declare ${name}`);
    if (found.has(`${file} ${name}`)) continue;
    found.set(`${file} ${name}`, { name, text });
    for (const word of new Set(text.match(/[\w$]+/g))) {
      const from = imported.get(word);
      if (declared.has(word)) waiting.push({ file, name: word });
      else if (from !== undefined) waiting.push(from);
    }
    for (const [, path = '', type = ''] of text.matchAll(/import\("(\.[^"]+)"\)\.(\w+)/g)) {
      waiting.push({ file: target(file, path), name: type });
    }
  }
  const texts = [...found.values()].map(({ text }) => text).toSorted((one, other) => (one < other ? -1 : 1));
  return `exports ${[...exported.keys()].sort().join(', ')}\n\n${texts.join('\n\n')}\n`;
}

const STATEMENT = /^(?=(?:import|export|declare|type|interface|class|enum)\b)/m;
const DECLARATION = /^(?:export )?(?:declare )?(?:abstract )?(?:type|interface|class|const|let|function|enum) ([\w$]+)/;

function readModule(file: string): Module {
  const declared = new Map<string, string>();
  const imported = new Map<string, Place>();
  const exported = new Map<string, Place>();
  for (const statement of readFileSync(file, 'utf8').split(STATEMENT)) {
    const text = statement.trim();
    const [, kind, names = '', path] =
      /^(import|export) (?:type )?\{([^}]*)\}(?: from ['"]([^'"]+)['"])?;$/.exec(text) ?? [];
    const [, all] = /^export (?:type )?\* from ['"]([^'"]+)['"];$/.exec(text) ?? [];
    const name = DECLARATION.exec(text)?.[1];
    if (kind !== undefined) {
      // A package's own types are named by the import only.
      if (path !== undefined && !path.startsWith('.')) continue;
      for (const [from, to] of pairs(names)) {
        const place = { file: path === undefined ? file : target(file, path), name: from };
        (kind === 'import' ? imported : exported).set(to, place);
      }
    } else if (all !== undefined) {
      for (const [to, place] of readModule(target(file, all)).exported) exported.set(to, place);
    } else if (name !== undefined) {
      // Overloads of a function share a name.
      const own = text.replace(/^export /, '').replace(/import\("\.[^"]*"\)\./g, '');
      declared.set(name, declared.has(name) ? `${declared.get(name)}\n${own}` : own);
      if (text.startsWith('export ')) exported.set(name, { file, name });
    } else {
      assert.match(text, /^(import .*|export \{\};|)$/, `${file}: ${text}`);
    }
  }
  return { declared, imported, exported };
}

/** `a, type b as c` as pairs of the name there and the name here. */
function pairs(names: string): [string, string][] {
  return names
    .split(',')
    .map((one) => one.replace(/^\s*type /, '').trim())
    .filter((one) => one !== '')
    .map((one) => one.split(' as '))
    .map(([from = '', to = from]) => [from, to]);
}

function target(file: string, path: string): string {
  return resolve(dirname(file), path.replace(/\.[jt]s$/, '.d.ts'));
}
