/** Compares docs/reference/ with the code that it is generated from. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { anchorOf } from '../../scripts/reference/http-api.ts';
import { referencePages } from '../../scripts/reference/pages.ts';
import { membersTable } from '../../scripts/reference/schema-table.ts';
import { phraseOf, type Schema } from '../../src/http/api-document.ts';
import { UUID_V7 } from '../../src/kernel/ids.ts';
import { REFUSAL_STATUS } from '../../src/kernel/refusal.ts';
import { createMetrics } from '../../src/observe/metrics.ts';

const folder = fileURLToPath(new URL('../../docs/reference/', import.meta.url));

describe('docs/reference/', () => {
  it('is the output of npm run reference', async () => {
    const pages = await referencePages();
    assert.deepEqual(readdirSync(folder).sort(), [...pages.keys()].sort());
    for (const [name, text] of pages) {
      assert.equal(readFileSync(join(folder, name), 'utf8'), text, `${name} is out of date: npm run reference`);
    }
  });

  it('has no dead links', () => {
    const pages = readdirSync(folder).filter((name) => name.startsWith('http-api'));
    const textOf = (name: string): string => readFileSync(join(folder, name), 'utf8');
    const anchorsOf = (name: string): Set<string> =>
      new Set([...textOf(name).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading)));
    const links = pages.flatMap((page) =>
      [...textOf(page).matchAll(/\]\((http-api[\w-]*\.md)?#([^)]+)\)/g)].map(([, other, anchor = '']) => ({
        on: other ?? page,
        anchor,
      })),
    );
    assert.ok(links.length > 200);
    for (const { on, anchor } of links) assert.ok(anchorsOf(on).has(anchor), `${on}#${anchor}`);
  });

  it('has a page for each group of operations, and an index of all of them', async () => {
    const index = readFileSync(join(folder, 'http-api.md'), 'utf8');
    const groups = readdirSync(folder).filter((name) => name.startsWith('http-api-'));
    assert.ok(groups.length >= 15);
    for (const name of groups) {
      const operations = [...readFileSync(join(folder, name), 'utf8').matchAll(/^`(.*)` \(operation `\w+`\)$/gm)];
      assert.ok(operations.length > 0, name);
      for (const [, request = ''] of operations) assert.ok(index.includes(`\`${request}\``), request);
    }
  });

  it('explains each error code once', () => {
    const page = readFileSync(join(folder, 'http-api.md'), 'utf8');
    const rows = [...page.matchAll(/^\| (\d{3}) \| `(\w+)` \| (.+) \|$/gm)];
    assert.deepEqual(
      rows.map(([, status, code]) => [code, Number(status)]),
      Object.entries(REFUSAL_STATUS),
    );
  });

  it('has every metric of the service, with its type', async () => {
    const page = readFileSync(join(folder, 'metrics.md'), 'utf8');
    const { render } = createMetrics({
      queues: { read: async () => ({ queues: [], otherRecords: 0 }) },
      clock: Date.now,
    });
    const told = [...(await render()).matchAll(/^# TYPE (sallyport_\w+) (\w+)$/gm)];
    assert.ok(told.length >= 12);
    for (const [, name = '', type = ''] of told) {
      const section = page.split(/^## /m).find((text) => text.includes(`\`${name}\``)) ?? '';
      assert.equal(section.slice(0, section.indexOf('\n')).toLowerCase(), `${type}s`, name);
    }
  });
});

describe('the phrase of a schema', () => {
  const cases: readonly (readonly [Schema, string])[] = [
    [{ type: 'string' }, 'string'],
    [{ type: 'string', format: 'uuid', pattern: '^x$' }, 'string (uuid)'],
    [{ type: 'string', pattern: '^x$' }, 'string (`^x$`)'],
    [{ type: 'string', pattern: `^[${'a'.repeat(40)}]$` }, 'string'],
    [{ type: ['string', 'null'], pattern: UUID_V7.source }, 'string or null (uuid)'],
    [{ type: ['string', 'null'], maxLength: 5 }, 'string or null (at most 5 characters)'],
    [{ type: 'integer', minimum: 1, maximum: 200 }, 'integer (1–200)'],
    [{ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, 'integer (at least 0)'],
    [{ type: 'number', exclusiveMinimum: 0 }, 'number (over 0)'],
    [{ type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 2 }, 'list of string (2 items)'],
    [{ enum: ['a', null] }, '`a`, `null`'],
    [{ anyOf: [{ $ref: '#/components/schemas/Key' }, { type: 'null' }] }, '[Key](#key) or null'],
    [{ const: true }, '`true`'],
    [{}, 'any'],
  ];
  for (const [schema, phrase] of cases) it(phrase, () => assert.equal(phraseOf(schema), phrase));

  it('names nested members by their path, and says which are optional', () => {
    const table = membersTable({
      properties: {
        retry: { type: 'object', properties: { policy: { enum: ['linear'] } }, required: ['policy'] },
        headers: {
          type: 'array',
          items: { type: 'object', properties: { name: { type: 'string', description: 'a|b' } } },
        },
      },
      required: ['retry'],
    });
    assert.deepEqual(table.split('\n').slice(2, -1), [
      '| `retry` | object |  |',
      '| `retry.policy` | `linear` |  |',
      '| `headers` | list of object | *optional* |',
      '| `headers[].name` | string | *optional* a\\|b |',
    ]);
  });
});
