/** Holds the layout that docs/architecture.md draws: which room may import which, and how large rooms and files may be. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../src/', import.meta.url));

/** The imports of each room beside itself, types included. A room imports only rooms above it, so that no two import each other. */
const ROOMS: Readonly<Record<string, string>> = {
  kernel: '',
  domain: 'kernel',
  wire: 'domain kernel',
  receiver: 'kernel wire',
  outbound: 'domain kernel',
  config: 'kernel outbound',
  store: 'domain kernel',
  resources: 'domain kernel store',
  access: 'domain kernel resources store',
  events: 'domain kernel resources store wire',
  employees: 'access domain kernel resources store',
  customers: 'access domain kernel resources store',
  webhooks: 'domain events kernel outbound resources store wire',
  delivery: 'domain events kernel outbound resources store webhooks wire',
  housekeeping: 'domain kernel store',
  data: 'access config domain events kernel store',
  observe: 'delivery domain housekeeping kernel store',
  services:
    'access config customers data delivery employees events housekeeping kernel observe outbound store webhooks',
  importing: 'customers domain events kernel outbound store webhooks wire',
  program: 'access customers delivery domain events kernel observe resources services store webhooks',
  http: 'access config customers delivery domain employees events housekeeping kernel observe outbound resources services store webhooks',
  portal:
    'access config customers data delivery domain events http kernel observe resources services store webhooks wire',
  cli:
    'access config customers data delivery domain events importing kernel observe outbound receiver resources services ' +
    'store webhooks wire',
};
/** The same for the rooms of the store, and for the files beside them. */
const STORE: Readonly<Record<string, string>> = {
  port: '',
  'confinement.ts': 'port',
  'customer-scope.ts': 'confinement.ts port',
  'customer-store.ts': 'confinement.ts customer-scope.ts port',
  shared: 'port',
  sqlite: 'port shared',
  postgres: 'port shared',
};
/** Rooms whose dependencies name the verbs of the store that they use. */
const USE_CASES = ['access', 'events', 'employees', 'customers', 'webhooks', 'delivery', 'housekeeping', 'resources'];
/** The rooms that know the database behind the store: they open, copy and examine its file. */
const KNOW_SQLITE = ['store', 'data', 'cli'];
/** A thread opens its own connection. */
const KNOW_SQLITE_TOO = ['delivery/large-bodies-thread.ts'];

/** Exported names that several files share on purpose, and the reason. */
const SHARED_NAMES: Readonly<Record<string, string>> = {
  'The same part of each database':
    'Connection MIGRATIONS Migration SCHEMA_HISTORY SCHEMA_VERSION SchemaHistory SchemaVerdict createSchema ' +
    'dispatchStore employeeReads erasureStore ' +
    'eventStore eventTypeReads examineSchema migrate portError stateHistoryStore tokenStore unavailable watchAccess',
  'The same function with the means of Node and of WebCrypto': 'equalText hmacSha256Base64 sha256Base64',
  'A public name of the package for receivers, which has no part of the service': 'Answer Delivery Refusal RefusalCode',
  'A resource at each border: its table, its schema, its commands and its pages':
    'USER WEBHOOK applicationView userView',
  'A part of the portal or of a database driver that no file imports together with the other':
    'Table number oneOf table text',
};
/** Types of TypeScript, beside the globals of Node. */
const UTILITY_TYPES =
  'Awaited Exclude Extract InstanceType Iterable NonNullable Omit Parameters Partial Pick Readonly Record Required ReturnType';
/** The layers of src/portal, from the bottom. The entities are in between: they import the first three, and each other without a circle. */
const PORTAL_LAYERS: readonly (string | null)[] = ['parts', 'frame', 'record', null, 'customer-frame'];

const ROOT_FILES_MAX = 6;
const FOLDER_FILES_MAX = 30;
const LINES_MAX = 400;
/** Of a function without those within it, which count for themselves. */
const FUNCTION_LINES_MAX = 60;
/** The functions that are longer. This list may only shrink. */
const LONG_FUNCTIONS = [
  'portal/customers/customer-detail.ts: readGroups',
  'portal/event-types/event-type-fields.ts: eventTypeFields',
];
const COLUMNS_MAX = 140;

type Import = { readonly from: string; readonly to: string; readonly typeOnly: boolean };

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .sort();
const sources = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));
const imports = [...sources].flatMap(([file, source]) => importsOf(file, source));

describe('the layout of src/', () => {
  it('has no room that the table lacks', () => {
    const rooms = new Set(files.map(roomOf).filter((room) => room !== null));
    assert.deepEqual([...rooms].sort(), Object.keys(ROOMS).sort());
  });

  it('lets each room import only what the table allows', () => {
    const refused = imports.filter(({ from, to }) => {
      const [room, target] = [roomOf(from), roomOf(to)];
      if (room === null || room === target) return false;
      // The command line starts what the files beside the rooms compose.
      if (target === null) return room !== 'cli';
      return !(ROOMS[room] ?? '').split(' ').includes(target);
    });
    assert.deepEqual(refused.map(shown), []);
  });

  it('keeps the two databases apart: the rooms of the store import only what their table allows', () => {
    const used = new Set<string>();
    const refused = imports.filter(({ from, to }) => {
      const [room, target] = [storeRoomOf(from), storeRoomOf(to)];
      if (room === null || target === null || room === target) return false;
      used.add(`${room} ${target}`);
      return !(STORE[room] ?? '').split(' ').includes(target);
    });
    assert.deepEqual(refused.map(shown), []);
    const unused = Object.entries(STORE).flatMap(([room, targets]) =>
      targets.split(' ').filter((target) => target !== '' && !used.has(`${room} ${target}`)),
    );
    assert.deepEqual(unused, []);
  });

  it('has no two rooms that import each other: each imports only rooms above it in the table', () => {
    const above = new Set<string>();
    const upwards = Object.entries(ROOMS).flatMap(([room, targets]) => {
      const below = targets.split(' ').filter((target) => target !== '' && !above.has(target));
      above.add(room);
      return below.map((target) => `${room} imports ${target}`);
    });
    assert.deepEqual(upwards, []);
  });

  it('lets each layer of src/portal import only those below it: parts, frame, record, the entities, the frame of customers', () => {
    const layerOf = (file: string): number => {
      const [, folder = ''] = file.split('/');
      const at = PORTAL_LAYERS.indexOf(folder);
      return at === -1 ? PORTAL_LAYERS.indexOf(null) : at;
    };
    const below = imports.filter(({ from, to }) => /^portal\/.+\//.test(from) && /^portal\//.test(to));
    assert.ok(below.length > 500);
    assert.deepEqual(below.filter(({ from, to }) => layerOf(to) > layerOf(from)).map(shown), []);
    const beside = files.filter((file) => /^portal\/[^/]+$/.test(file));
    assert.deepEqual(beside, ['portal/portal.ts']);
  });

  it('gives every page its clock: no file of src/portal reads that of the system', () => {
    const reading = [...sources].filter(([file, source]) => /^portal\//.test(file) && /\bDate\.now\(\)/.test(source));
    assert.deepEqual(reading, []);
  });

  it('lets only the rooms that open the database file import the SQLite driver', () => {
    const refused = imports.filter(({ from, to, typeOnly }) => {
      const room = roomOf(from);
      if (!to.startsWith('store/sqlite/') || typeOnly || room === null) return false;
      return !KNOW_SQLITE.includes(room) && !KNOW_SQLITE_TOO.includes(from);
    });
    assert.deepEqual(refused.map(shown), []);
  });

  it('names no import in the table that nothing uses', () => {
    const used = new Set(imports.map(({ from, to }) => `${roomOf(from)} ${roomOf(to)}`));
    const unused = Object.entries(ROOMS).flatMap(([room, targets]) =>
      targets.split(' ').filter((target) => target !== '' && !used.has(`${room} ${target}`)),
    );
    assert.deepEqual(unused, []);
  });

  it('gives each use case the verbs that it uses, and none the whole store', () => {
    const whole = [...sources].filter(
      ([file, source]) => USE_CASES.includes(roomOf(file) ?? '') && /: Store\b(?!\[)/.test(source),
    );
    assert.deepEqual(
      whole.map(([file]) => file),
      [],
    );
  });

  it('has no circle of files', () => {
    assert.deepEqual(circles(), []);
  });

  it('has no two folders of http/ or of portal/ that import each other', () => {
    const folders = imports.filter(({ from, to }) => {
      const room = roomOf(from);
      return (room === 'http' || room === 'portal') && room === roomOf(to) && dirname(from) !== dirname(to);
    });
    const pairs = new Set(folders.map(({ from, to }) => `${dirname(from)} ${dirname(to)}`));
    assert.ok(pairs.size > 50);
    const mutual = folders.filter(({ from, to }) => pairs.has(`${dirname(to)} ${dirname(from)}`));
    assert.deepEqual(mutual.map(shown), []);
  });

  it('imports only files that exist', () => {
    assert.deepEqual(imports.filter(({ to }) => !sources.has(to)).map(shown), []);
  });

  it('names only files that exist in its comments', () => {
    const names = new Set([...files.map((file) => basename(file)), 'schema.sql']);
    const named = [...sources].flatMap(([file, source]) =>
      [...source.matchAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm)].flatMap(([comment]) =>
        [...comment.matchAll(/(?<![\w./-])[\w-]+\.(?:ts|sql)\b/g)].map(([name]) => ({ file, name })),
      ),
    );
    assert.ok(named.length > 20);
    assert.deepEqual(
      named.filter(({ name }) => !names.has(name)),
      [],
    );
  });

  it('has no two exports of one name, except for the listed ones', () => {
    // The API for embedding programs has the names of the resources for its own records.
    const inside = exportedNames().filter(({ file }) => !/^(program\/|sallyport\.ts$)/.test(file));
    const homes = Map.groupBy(inside, ({ name }) => name);
    const shared = [...homes].filter(([, places]) => new Set(places.map(({ file }) => file)).size > 1);
    assert.deepEqual(shared.map(([name]) => name).sort(), Object.values(SHARED_NAMES).join(' ').split(' ').sort());
  });

  it('gives no type, type parameter or export the name of a built-in', () => {
    const builtIn = new Set([...Object.getOwnPropertyNames(globalThis), ...UTILITY_TYPES.split(' ')]);
    const types = [...sources].flatMap(([file, source]) =>
      [...source.matchAll(/^(?:export )?type (\w+)/gm)].map(([, name = '']) => ({ file, name })),
    );
    const parameters = [...sources].flatMap(([file, source]) =>
      [...source.matchAll(/^(?:export )?(?:async )?(?:type|function) \w+<([^>(=]*)/gm)].flatMap(([, list = '']) =>
        list.split(',').map((one) => ({ file, name: /^\s*(\w+)/.exec(one)?.[1] ?? '' })),
      ),
    );
    const hiding = [...types, ...parameters, ...exportedNames()].filter(({ name }) => builtIn.has(name));
    assert.deepEqual([...new Set(hiding.map(({ file, name }) => `${file}: ${name}`))].sort(), []);
  });

  it('has few files beside the rooms, and no crowded folder', () => {
    const counts = new Map<string, number>();
    for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    const crowded = [...counts].filter(
      ([folder, count]) => count > (folder === '.' ? ROOT_FILES_MAX : FOLDER_FILES_MAX),
    );
    assert.deepEqual(crowded, []);
  });

  it('has no file of more than 400 lines', () => {
    const long = [...sources].filter(([, source]) => source.split('\n').length - 1 > LINES_MAX).map(([file]) => file);
    assert.deepEqual(long, []);
  });

  it('has no function of more than 60 lines, except for the listed ones', () => {
    const all = [...sources].flatMap(([file, source]) => functionsOf(source).map((one) => ({ file, ...one })));
    assert.ok(all.length > 4000);
    const long = all.filter(({ ownLines }) => ownLines > FUNCTION_LINES_MAX);
    assert.deepEqual(long.map(({ file, name }) => `${file}: ${name}`).sort(), LONG_FUNCTIONS);
  });
});

/**
 * The functions of a formatted file with a body in braces. Such a body begins at the end of a line, and ends with the next line that begins
 * with a brace left of it. A head of several lines begins in the column of its last one.
 */
function functionsOf(source: string): { readonly name: string; readonly ownLines: number }[] {
  const lines = source.split('\n');
  const columns = lines.map((line) => line.search(/\S/));
  const control = /^(?:\} )?(?:else|if|for|while|switch|catch|try|do|case|default)\b/;
  const found: { readonly name: string; readonly first: number; readonly last: number; ownLines: number }[] = [];
  for (const [at, line] of lines.entries()) {
    if (!/(?:=>|\)(?:: .+)?) \{$/.test(line)) continue;
    let first = at;
    while (/^[)}>]/.test(lines[first]?.trim() ?? '')) first = columns.lastIndexOf(columns[at] ?? 0, first - 1);
    const head = lines[first]?.trim() ?? '';
    if (control.test(head)) continue;
    const inside = columns[at + 1] ?? 0;
    let last = at + 1;
    while (!(lines[last]?.trim().startsWith('}') && (columns[last] ?? 0) < inside)) last += 1;
    const ownLines = last - first + 1;
    // Of the functions around it, only the innermost still counts its lines.
    const around = found.findLast((one) => one.first < first && one.last >= last);
    if (around !== undefined) around.ownLines -= ownLines;
    const name = /(?:function\*? |const |^)(\w+)/.exec(head.replace(/^(?:export )?(?:async )?/, ''))?.[1] ?? head;
    found.push({ name, first, last, ownLines });
  }
  return found;
}

/** The names that each file declares and exports. */
function exportedNames(): { readonly file: string; readonly name: string }[] {
  const declaration = /^export (?:async )?(?:function\*?|const|let|class|type) (\w+)/gm;
  return [...sources].flatMap(([file, source]) =>
    [...source.matchAll(declaration)].map(([, name = '']) => ({ file, name })),
  );
}

/** All code, by its path in the repository. */
const code = new Map(
  ['src', 'test', 'scripts'].flatMap((folder) =>
    readdirSync(join(src, '..', folder), { recursive: true, encoding: 'utf8' })
      // The benchmarks install their peers below scripts/.
      .filter((file) => /\.(ts|mjs|js)$/.test(file) && !file.includes('node_modules/'))
      .map((file) => join(folder, file))
      .map((file): [string, string] => [file, readFileSync(join(src, '..', file), 'utf8')]),
  ),
);

describe('the lines of src/, test/ and scripts/', () => {
  it('have at most 140 columns, also within templates', () => {
    assert.ok(code.size > 1000);
    const long = [...code].flatMap(([file, source]) =>
      source.split('\n').flatMap((line, at) => (line.length > COLUMNS_MAX ? [`${file}:${at + 1}`] : [])),
    );
    assert.deepEqual(long, []);
  });

  it('spread no literal: its members belong to the literal around it', () => {
    const spreading = [...code].filter(([, source]) => spreadsLiteral(source)).map(([file]) => file);
    assert.deepEqual(spreading, []);
  });

  it('may spread what a literal yields', () => {
    const spread = '...';
    assert.ok(spreadsLiteral(`f({ ${spread}{ a, b }, c })`));
    assert.ok(spreadsLiteral(`[${spread}[a, [b]], c]`));
    assert.ok(!spreadsLiteral('[...[a, b].map(f), ...(isA ? [a] : []), ...list[0]]'));
  });
});

/** Whether it spreads an object or a list in brackets, which keeps them on one line whatever their length. */
function spreadsLiteral(source: string): boolean {
  return [...source.matchAll(/\.\.\.([[{])/g)].some(({ 1: bracket, index }) => {
    if (bracket === '{') return true;
    let depth = 0;
    let at = index + '...'.length;
    do {
      if (source[at] === '[') depth += 1;
      if (source[at] === ']') depth -= 1;
      at += 1;
    } while (depth > 0 && at < source.length);
    return !['.', '['].includes(source[at] ?? '');
  });
}

function shown({ from, to, typeOnly }: Import): string {
  return `${from} imports ${to}${typeOnly ? ' (types)' : ''}`;
}

/** Null for the files at the top of src/. */
function roomOf(file: string): string | null {
  return file.includes('/') ? (file.split('/')[0] as string) : null;
}

/** `port` for a file in store/port/. Null outside the store. */
function storeRoomOf(file: string): string | null {
  return file.startsWith('store/') ? (file.split('/')[1] as string) : null;
}

/** Relative imports and re-exports, dynamic ones included. */
function importsOf(file: string, source: string): Import[] {
  const found: Import[] = [];
  for (const [statement, , path = ''] of source.matchAll(/^(import|export)\b[^;'"`]*?\bfrom\s+'(\.[^']+)';/gm)) {
    const names = (/\{([^}]*)\}/.exec(statement)?.[1] ?? '').split(',').map((name) => name.trim());
    const named = names.filter((name) => name !== '');
    const allTypes = named.length > 0 && named.every((name) => name.startsWith('type '));
    found.push({
      from: file,
      to: resolved(file, path),
      typeOnly: /^(import|export) type\b/.test(statement) || allTypes,
    });
  }
  for (const [, called, bare] of source.matchAll(/\bimport\('(\.[^']+)'\)|^import '(\.[^']+)';/gm)) {
    found.push({ from: file, to: resolved(file, called ?? bare ?? ''), typeOnly: false });
  }
  return found;
}

function resolved(file: string, path: string): string {
  return relative(src, join(src, normalize(join(dirname(file), path))));
}

/** The files that import each other in a circle, by Tarjan's strongly connected components. */
function circles(): string[][] {
  const targets = Map.groupBy(imports, ({ from }) => from);
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): void => {
    index.set(file, index.size);
    low.set(file, index.get(file) ?? 0);
    stack.push(file);
    for (const { to } of targets.get(file) ?? []) {
      if (!index.has(to)) visit(to);
      if (stack.includes(to)) low.set(file, Math.min(low.get(file) ?? 0, low.get(to) ?? 0));
    }
    if (low.get(file) !== index.get(file)) return;
    const circle = stack.splice(stack.indexOf(file));
    if (circle.length > 1) found.push(circle);
  };
  for (const file of files) if (!index.has(file)) visit(file);
  return found;
}
