import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { COMPILER } from '../../scripts/build/compiler.ts';
import { BUILT_IN_EVENT_TYPES } from '../../src/events/built-in.ts';
import { typeDeclarations, typesModule } from '../../src/events/typescript.ts';
import { cleanUp } from '../support/cleanup.ts';

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#';

const typed = (name: string, dataSchema: object | null, more: object = {}) =>
  ({ name, description: '', deprecated: false, dataSchema, ...more }) as Parameters<typeof typeDeclarations>[0];

const texts: readonly (readonly [schema: object | null, text: string])[] = [
  [null, 'export type OrderPlaced = {\n  readonly [member: string]: unknown;\n};\n'],
  [
    {
      type: 'object',
      required: ['id'],
      properties: { id: { type: 'integer', description: 'Its number.' }, 'odd-name': { type: ['string', 'null'] } },
    },
    `export type OrderPlaced = {
  /** Its number. */
  readonly id: number;
  readonly "odd-name"?: string | null;
};
`,
  ],
  [
    { properties: { state: { enum: ['open', 'paid', 3, null] } } },
    'export type OrderPlaced = {\n  readonly state?: "open" | "paid" | 3 | null;\n  readonly [member: string]: unknown;\n};\n',
  ],
  [
    { type: 'object', additionalProperties: false, properties: { a: { type: 'array', items: { enum: [1, 2] } } } },
    'export type OrderPlaced = {\n  readonly a?: readonly (1 | 2)[];\n};\n',
  ],
  [
    { type: 'object', additionalProperties: { type: 'number' } },
    'export type OrderPlaced = {\n  readonly [member: string]: number;\n};\n',
  ],
  [
    {
      $ref: '#/$defs/order',
      $defs: {
        order: {
          type: 'object',
          required: ['lines'],
          properties: { lines: { items: { $ref: '#/$defs/line' }, type: 'array' } },
        },
        line: { const: 'a' },
      },
    },
    'export type OrderPlaced = {\n  readonly lines: readonly OrderPlaced_Line[];\n};\n\nexport type OrderPlaced_Line = "a";\n',
  ],
  [
    { type: 'object', required: ['next'], properties: { next: { $ref: '#' } } },
    'export type OrderPlaced = {\n  readonly next: OrderPlaced;\n};\n',
  ],
  [
    { type: 'object', allOf: [{ $ref: '#' }], anyOf: [{ type: 'object', required: ['a'] }, false] },
    'export type OrderPlaced = {\n  readonly [member: string]: unknown;\n} & ({\n  readonly a: unknown;\n} | never);\n',
  ],
  [
    { type: 'object', properties: { a: { $ref: 'https://a.example/b' }, c: { $ref: '#none' } }, required: ['a', 'c'] },
    'export type OrderPlaced = {\n  readonly a: unknown;\n  readonly c: unknown;\n};\n',
  ],
  [
    {
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'array', prefixItems: [{ type: 'string' }, {}], minItems: 1, items: false } },
    },
    'export type OrderPlaced = {\n  readonly a: readonly [string, unknown?];\n};\n',
  ],
];

describe('the TypeScript type of a schema', () => {
  for (const [schema, text] of texts) {
    it(`of ${JSON.stringify(schema)?.slice(0, 80)} is what a reader expects`, () => {
      assert.equal(typeDeclarations(typed('order.placed', schema)), text);
    });
  }

  it('has descriptions and deprecations as comments, which nothing ends early', () => {
    const schema = {
      type: 'object',
      required: ['a'],
      properties: { a: { description: 'x */ y\nz', deprecated: true } },
    };
    const text = typeDeclarations(typed('order.placed', schema, { description: 'Placed.', deprecated: true }));
    assert.equal(
      text,
      `/**
 * Placed.
 * @deprecated Do not subscribe to it any more.
 */
export type OrderPlaced = {
  /**
   * x *\\/ y
   * z
   * @deprecated
   */
  readonly a: unknown;
};
`,
    );
  });

  it('gives types of different names different names', () => {
    const names = ['order.a-b', 'order.a_b', 'events.x', 'order.a.b'].slice(0, 3);
    const text = typesModule(names.map((name) => typed(name, null)));
    assert.deepEqual(
      [...text.matchAll(/^export type (\w+)/gm)].map(([, name]) => name),
      ['OrderAB', 'OrderAB2', 'EventsX', 'Events'],
    );
    assert.match(text, /"order\.a-b": OrderAB;\n {2}"order\.a_b": OrderAB2;/);
  });

  it('is bounded for a schema that refers to itself many times over', () => {
    const defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [
        `d${n}`,
        { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
      ]),
    );
    const text = typeDeclarations(typed('a.b', { $ref: '#/$defs/d0', $defs: { ...defs, d40: { type: 'string' } } }));
    assert.ok(text.length < 100_000);
  });
});

describe('the TypeScript types', () => {
  it('compile, and take every sample of their schemas', async (t) => {
    const seed = Date.now() % 2 ** 31;
    const cases = fc.sample(schemaWithSample, { numRuns: 200, seed });
    for (const { schema, sample, isDraft07 } of cases) {
      const Dialect = isDraft07 ? Ajv : Ajv2020;
      const validate = new Dialect({ strict: false }).compile(schema);
      assert.ok(
        validate(sample),
        `${JSON.stringify(schema)} ${JSON.stringify(sample)} ${JSON.stringify(validate.errors)}`,
      );
    }
    const module = typesModule(cases.map(({ schema }, n) => typed(`type.n${n}`, schema)));
    const lines = cases.map(
      ({ sample }, n) =>
        `const v${n} = ${JSON.stringify(sample)} as const; export const x${n}: Events["type.n${n}"] = v${n};`,
    );
    const problems = await compiled(t, { 'types.d.ts': module, 'check.ts': [IMPORT, ...lines].join('\n') });
    const first = /check\.ts\((\d+),/.exec(problems);
    const about = first === null ? '' : JSON.stringify(cases[Number(first[1]) - 2]);
    assert.equal(problems, '', `seed ${seed}: ${about}`);
  });

  it('of the built-in event types take their samples, and refuse other data', async (t) => {
    const own = typed('order.placed', {
      type: 'object',
      required: ['total', 'lines'],
      properties: { total: { type: 'number' }, lines: { type: 'array', items: { $ref: '#/$defs/line' } } },
      $defs: { line: { type: 'object', required: ['sku'], properties: { sku: { type: 'string' } } } },
    });
    const builtIn = BUILT_IN_EVENT_TYPES;
    const lines = builtIn.flatMap(({ name, sample }, n) =>
      sample === null
        ? []
        : [`const v${n} = ${JSON.stringify(sample)} as const; export const x${n}: Events["${name}"] = v${n};`],
    );
    assert.ok(lines.length > 0);
    const check = [
      IMPORT,
      ...lines,
      'export const good: Events["order.placed"] = { total: 1, lines: [{ sku: "a" }] };',
      ...['{ total: "1", lines: [] }', '{ lines: [] }', '{ total: 1, lines: [{}] }', '{ total: 1, lines: {} }'].map(
        (wrong, n) => `// @ts-expect-error\nexport const wrong${n}: Events["order.placed"] = ${wrong};`,
      ),
      '// @ts-expect-error\nexport type Unknown = Events["order.none"];',
    ].join('\n');
    assert.equal(await compiled(t, { 'types.d.ts': typesModule([own, ...builtIn]), 'check.ts': check }), '');
  });
});

const IMPORT = "import type { Events } from './types.d.ts';";

/** Returns the compiler's messages about the files; none if they are right. */
async function compiled(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-types-'));
  cleanUp(t, () => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const options = [
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--noUncheckedIndexedAccess',
    '--skipLibCheck',
    'false',
  ];
  const target = ['--target', 'es2023', '--module', 'nodenext', '--types', '', '--allowImportingTsExtensions'];
  return new Promise((done) => {
    const args = [...COMPILER.args, ...options, ...target, 'check.ts', 'types.d.ts'];
    const env = { ...process.env, ...COMPILER.env };
    execFile(process.execPath, args, { cwd: folder, env }, (error, stdout, stderr) => {
      done(error === null ? '' : `${stdout}${stderr}`);
    });
  });
}

type Case = { readonly schema: object; readonly sample: unknown; readonly isDraft07: boolean };

const name = fc.constantFrom('a', 'b', 'c', 'odd-name', '0', 'é');
const sampleValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, false, 0, -1.5, 1e21, '', 'x', '"*/', 'ü\u2028'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  ),
})).value;

/** A sample and a schema that it satisfies: made for it, with parts that are chosen at random. */
const schemaWithSample: fc.Arbitrary<Case> = fc
  .tuple(fc.dictionary(name, sampleValue, { maxKeys: 4 }), fc.boolean(), fc.infiniteStream(fc.nat({ max: 999 })))
  .map(([drawn, isDraft07, choices]) => {
    // With the prototype of objects, as JSON.parse makes them.
    const sample: unknown = JSON.parse(JSON.stringify(drawn));
    const definitions: Record<string, unknown> = {};
    const next = (count: number): number => Number(choices.next().value) % count;
    const made = schemaFor(sample, { next, isDraft07, definitions, depth: 0 });
    const dialect = isDraft07 ? { $schema: DRAFT_07 } : {};
    return { schema: { ...dialect, ...made, [DEFINITIONS]: definitions }, sample, isDraft07 };
  });

const DEFINITIONS = 'definitions';
type Making = {
  readonly next: (count: number) => number;
  readonly isDraft07: boolean;
  readonly definitions: Record<string, unknown>;
  readonly depth: number;
};

type Made = Record<string, unknown>;

function schemaFor(value: unknown, making: Making): Made {
  const { next, definitions, depth } = making;
  const deeper = { ...making, depth: depth + 1 };
  const again = (): Made => schemaFor(value, deeper);
  if (depth < 6) {
    switch (next(12)) {
      case 0:
        return { anyOf: [again(), OTHERS[next(OTHERS.length)]] };
      case 1:
        return { allOf: [again(), again()] };
      case 2: {
        const at = `d${Object.keys(definitions).length}`;
        definitions[at] = {};
        definitions[at] = again();
        return { $ref: `#/${DEFINITIONS}/${at}`, ...(next(3) === 0 ? { description: 'A part.' } : {}) };
      }
      case 3:
        return { oneOf: [again(), { not: {} }] };
      case 4:
        return { ...again(), description: 'What */ it is' };
      default:
    }
  }
  switch (next(8)) {
    case 0:
      return { const: value };
    case 1:
      return { enum: [value, { other: [1] }] };
    case 2:
      return {};
    default:
      return typeFor(value, deeper);
  }
}

/** Schemas of anything. */
const OTHERS: readonly Made[] = [
  { type: 'string' },
  { type: 'object', required: ['z'] },
  { not: {} },
  {},
  { enum: [7] },
];

function typeFor(value: unknown, making: Making): Made {
  const { next, isDraft07 } = making;
  const several = (type: string): unknown => (next(3) === 0 ? [type, type === 'string' ? 'null' : 'string'] : type);
  if (value === null) return next(2) === 0 ? { type: 'null' } : { type: 'string', nullable: true };
  if (Array.isArray(value)) {
    const each = value.map((item) => schemaFor(item, making));
    const bounds = next(2) === 0 ? { minItems: next(value.length + 1) } : {};
    const known = next(value.length + 1);
    if (next(2) === 0) return { type: several('array'), items: each.length === 0 ? {} : { anyOf: each }, ...bounds };
    const leading = each.slice(0, known).concat(known === value.length ? [{ type: 'boolean' }].slice(next(2)) : []);
    if (leading.length === 0) return { type: 'array', ...bounds };
    const others = known >= value.length && next(2) === 0 ? false : { anyOf: [...each.slice(known), { type: 'null' }] };
    return isDraft07
      ? { type: several('array'), items: leading, additionalItems: others, ...bounds }
      : { type: several('array'), prefixItems: leading, items: others, ...bounds };
  }
  if (typeof value !== 'object') {
    const type = typeof value === 'number' && Number.isInteger(value) && next(2) === 0 ? 'integer' : typeof value;
    return { type: several(type) };
  }
  const members = Object.entries(value);
  const described = members.filter(() => next(3) > 0).map(([key, one]) => [key, schemaFor(one, making)] as const);
  const others = members.filter(([key]) => !described.some(([one]) => one === key));
  const required = members.map(([key]) => key).filter(() => next(2) === 0);
  const absent = next(2) === 0 ? { absent: OTHERS[next(OTHERS.length)] } : {};
  const rest = others.map(([, one]) => schemaFor(one, making));
  const more = [
    {},
    ...(others.length === 0 ? [{ additionalProperties: false }] : []),
    { additionalProperties: { anyOf: [...rest, { type: 'null' }] } },
    { patternProperties: { '^absent': {} } },
  ];
  return {
    type: several('object'),
    ...(described.length + Object.keys(absent).length > 0 && {
      properties: { ...Object.fromEntries(described), ...absent },
    }),
    ...(required.length > 0 && { required }),
    ...more[next(more.length)],
  };
}
