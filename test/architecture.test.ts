/** Holds the house as the README draws it: which room may import which, and how large a file may be. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../src/', import.meta.url));

/**
 * Rooms, from the middle outwards: each may import itself and those named. The files at the top of src are no room: those
 * of `FOUNDATION` serve everyone, the others put rooms together and are imported by the doors alone.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  wire: [],
  outbound: [],
  store: [],
  access: ['store'],
  events: ['store'],
  employees: ['access', 'events', 'store'],
  webhooks: ['events', 'outbound', 'store', 'wire'],
  delivery: ['events', 'outbound', 'store', 'webhooks', 'wire'],
  housekeeping: ['events', 'store', 'webhooks'],
  http: ['access', 'delivery', 'employees', 'events', 'housekeeping', 'outbound', 'store', 'webhooks', 'wire'],
  portal: ['access', 'delivery', 'employees', 'events', 'http', 'outbound', 'store', 'webhooks', 'wire'],
  cli: ['access', 'delivery', 'events', 'housekeeping', 'outbound', 'receiver', 'store', 'webhooks', 'wire'],
  receiver: ['wire'],
};

/** Types may also come from here: the store keeps what these rooms say a rule, an outcome or a record is. */
const TYPES_ALLOWED: Readonly<Record<string, readonly string[]>> = { store: ['access', 'outbound', 'wire'] };

const FOUNDATION = [
  'acting.ts',
  'administration.ts',
  'assets.ts',
  'audit.ts',
  'content-hash.ts',
  'database-limits.ts',
  'delivery-limits.ts',
  'entity-tag.ts',
  'housekeeping-limits.ts',
  'ids.ts',
  'limits.ts',
  'log.ts',
  'log-limits.ts',
  'portal-limits.ts',
  'random.ts',
  'refusal.ts',
  'schemas.ts',
  'secret.ts',
  'validation.ts',
  'version.ts',
];
const DOORS = ['cli', 'http', 'portal'];

const LINES_MAX = 400;

type Import = { readonly to: string; readonly typeOnly: boolean };

const files = (readdirSync(src, { recursive: true }) as string[]).filter((file) => file.endsWith('.ts')).sort();
const sources = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));

describe('the house', () => {
  for (const [file, source] of sources) {
    const room = roomOf(file);
    it(`${file} imports only towards the middle`, () => {
      assert.ok(room === null || room in ALLOWED, `${room} is no room that is drawn`);
      for (const { to, typeOnly } of importsOf(file, source)) {
        assert.ok(sources.has(to), `${file} imports ${to}, which is not there`);
        const target = roomOf(to);
        if (room === null || target === room) continue;
        if (target === null) assert.ok(FOUNDATION.includes(to) || DOORS.includes(room), `${file} imports ${to}`);
        else {
          const allowed = [...(ALLOWED[room] ?? []), ...(typeOnly ? (TYPES_ALLOWED[room] ?? []) : [])];
          assert.ok(allowed.includes(target), `${file} imports ${to}${typeOnly ? ' (types)' : ''}`);
        }
      }
    });
  }

  it('has no file of more than 400 lines', () => {
    const long = [...sources].filter(([, source]) => source.split('\n').length - 1 > LINES_MAX).map(([file]) => file);
    assert.deepEqual(long, []);
  });
});

function roomOf(file: string): string | null {
  return file.includes('/') ? (file.split('/')[0] as string) : null;
}

/** Relative imports and re-exports, dynamic ones included. */
function importsOf(file: string, source: string): Import[] {
  const found: Import[] = [];
  for (const [statement, , path = ''] of source.matchAll(/^(import|export)\b[^;'"`]*?\bfrom\s+'(\.[^']+)';/gm)) {
    const names =
      /\{([^}]*)\}/
        .exec(statement)?.[1]
        ?.split(',')
        .map((name) => name.trim()) ?? [];
    const allTypes = names.filter((name) => name !== '').every((name) => name.startsWith('type '));
    found.push({
      to: resolved(file, path),
      typeOnly: /^(import|export) type\b/.test(statement) || (names.length > 0 && allTypes),
    });
  }
  for (const [, path = ''] of source.matchAll(/\bimport\('(\.[^']+)'\)/g))
    found.push({ to: resolved(file, path), typeOnly: false });
  return found;
}

function resolved(file: string, path: string): string {
  return relative(src, join(src, normalize(join(dirname(file), path))));
}
