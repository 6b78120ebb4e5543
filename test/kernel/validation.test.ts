import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { Refusal } from '../../src/kernel/refusal.ts';
import {
  distinctIssues,
  isDeeperThan,
  JSON_DEPTH_MAX,
  mergePatch,
  refusePatch,
  validate,
} from '../../src/kernel/validation.ts';

const schema = z.strictObject({
  name: z.string().min(2).max(5),
  count: z.int().min(1).max(10).default(1),
  ratio: z.number().optional(),
  on: z.boolean().default(false),
  mode: z.enum(['fast', 'slow']).default('fast'),
  coding: z.literal('gzip').nullable().default(null),
  tags: z.array(z.string()).min(1).max(2).default(['x']),
  email: z.email('must be an email address').nullable().default(null),
  inner: z
    .strictObject({ code: z.string().regex(/^[a-z]+$/, 'must be lower case'), size: z.int().default(1) })
    .optional(),
  extra: z.record(z.string(), z.unknown()).default({}),
  at: z.iso.datetime('must be an instant').optional(),
  rule: z
    .string()
    .default('')
    .refine((text) => text !== 'bad', 'Is a bad rule'),
});
const reserved = { id: 'is set by the service' };

function problems(work: () => unknown): readonly unknown[] {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    assert.equal(error.code, 'validation_failed');
    assert.equal(error.status, 400);
    const [first] = error.details ?? [];
    assert.ok(error.message.startsWith(`${first?.field} ${first?.problem}`), error.message);
    return error.details ?? [];
  }
  return [];
}

describe('validate', () => {
  it('returns the parsed value with its defaults', () => {
    const value = validate(schema, { name: 'abc', count: 3 });
    assert.deepEqual(value, {
      name: 'abc',
      count: 3,
      on: false,
      mode: 'fast',
      coding: null,
      tags: ['x'],
      email: null,
      extra: {},
      rule: '',
    });
  });

  const table: readonly [what: string, body: unknown, field: string, problem: string][] = [
    ['a missing field', {}, 'name', 'is required'],
    ['no body at all', undefined, 'body', 'is required'],
    ['a body that is a text', 'name', 'body', 'must be an object'],
    ['a body that is a list', [], 'body', 'must be an object'],
    ['a body that is null', null, 'body', 'must be an object'],
    ['a number for a text', { name: 5 }, 'name', 'must be a string'],
    ['null for a text', { name: null }, 'name', 'must be a string'],
    ['a text for an integer', { name: 'abc', count: '3' }, 'count', 'must be a number'],
    ['a fraction for an integer', { name: 'abc', count: 1.5 }, 'count', 'must be an integer'],
    ['a number beyond all bounds', { name: 'abc', ratio: Number.POSITIVE_INFINITY }, 'ratio', 'must be a number'],
    ['a text for a boolean', { name: 'abc', on: 'true' }, 'on', 'must be true or false'],
    ['an object for a list', { name: 'abc', tags: {} }, 'tags', 'must be a list'],
    ['a list for an object', { name: 'abc', inner: [] }, 'inner', 'must be an object'],
    ['a list for a map', { name: 'abc', extra: [] }, 'extra', 'must be an object'],
    ['a text that is too short', { name: 'a' }, 'name', 'must have at least 2 characters'],
    ['a text that is too long', { name: 'abcdef' }, 'name', 'must have at most 5 characters'],
    ['a number that is too small', { name: 'abc', count: 0 }, 'count', 'must be at least 1'],
    ['a number that is too large', { name: 'abc', count: 11 }, 'count', 'must be at most 10'],
    ['a list that is too short', { name: 'abc', tags: [] }, 'tags', 'must have at least 1 item'],
    ['a list that is too long', { name: 'abc', tags: ['a', 'b', 'c'] }, 'tags', 'must have at most 2 items'],
    ['none of the values', { name: 'abc', mode: 'quick' }, 'mode', 'must be "fast" or "slow"'],
    ['not the one value', { name: 'abc', coding: 'br' }, 'coding', 'must be "gzip"'],
    ['a malformed text', { name: 'abc', email: 'nobody' }, 'email', 'must be an email address'],
    ['a malformed instant', { name: 'abc', at: '2026-02-30T00:00:00.000Z' }, 'at', 'must be an instant'],
    ['a rule of its own', { name: 'abc', rule: 'bad' }, 'rule', 'is a bad rule'],
    ['a member of an object', { name: 'abc', inner: { code: 'A' } }, 'inner.code', 'must be lower case'],
    ['an item of a list', { name: 'abc', tags: ['a', 5] }, 'tags[1]', 'must be a string'],
    ['an unknown field', { name: 'abc', nmae: 'x' }, 'nmae', 'is not a known field'],
    ['an unknown member', { name: 'abc', inner: { code: 'a', x: 1 } }, 'inner.x', 'is not a known field'],
    ['a field that the service sets', { name: 'abc', id: 'x' }, 'id', 'is set by the service'],
    ['a reserved name elsewhere', { name: 'abc', inner: { code: 'a', id: 1 } }, 'inner.id', 'is not a known field'],
  ];
  for (const [what, body, field, problem] of table) {
    it(`refuses ${what}, naming the field`, () => {
      assert.deepEqual(
        problems(() => validate(schema, body, reserved)),
        [{ field, problem }],
      );
    });
  }

  const hostile: readonly [name: string, shown: string][] = [
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['toString', 'toString'],
    ['hasOwnProperty', 'hasOwnProperty'],
    ['', '""'],
    ['a\r\nSet-Cookie: b', 'a??Set-Cookie: b'],
    ['ümläut\u0000', '?ml?ut?'],
    ['x'.repeat(10_000), 'x'.repeat(64)],
  ];
  for (const [name, shown] of hostile) {
    it(`names the unknown field ${JSON.stringify(shown)} without harm`, () => {
      const body = JSON.parse(`{"name":"abc",${JSON.stringify(name)}:{"a":1}}`);
      assert.deepEqual(
        problems(() => validate(schema, body, reserved)),
        [{ field: shown, problem: 'is not a known field' }],
      );
      assert.equal(({} as { a?: number }).a, undefined);
    });
  }

  it('lists every problem, and describes the first with the number of others', () => {
    const found = () => validate(schema, { name: 5, count: 0, z: 1 }, reserved);
    assert.equal(problems(found).length, 3);
    assert.throws(found, { message: 'name must be a string, and 2 more' });
  });

  it('lists no more than 20 problems', () => {
    const body = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`x${n}`, n]));
    assert.equal(problems(() => validate(schema, { name: 'abc', ...body })).length, 20);
  });

  it('repeats no value in its message, so that no secret leaks', () => {
    const body = { name: 'hunter2hunter2', mode: 'hunter2', email: 'hunter2', inner: { code: 'hunter2' } };
    assert.ok(!JSON.stringify(problems(() => validate(schema, body))).includes('hunter2'));
  });
});

/** As routes do it. */
function patched(target: object, patch: unknown) {
  refusePatch(schema, patch, reserved);
  return validate(schema, mergePatch(target, patch), reserved);
}

describe('a merge patch', () => {
  const target = { name: 'abc', count: 3, inner: { code: 'a', size: 2 } };

  it('returns the patched target, and changes neither argument', () => {
    const patch = { count: null, inner: { code: 'b' } };
    const merged = patched(target, patch);
    assert.equal(merged.count, 1);
    assert.deepEqual(merged.inner, { code: 'b', size: 2 });
    assert.deepEqual(target, { name: 'abc', count: 3, inner: { code: 'a', size: 2 } });
    assert.deepEqual(patch, { count: null, inner: { code: 'b' } });
  });

  let deep: unknown = 1;
  for (let level = 0; level < 10_000; level++) deep = { a: deep };
  const table: readonly [what: string, patch: unknown, field: string, problem: string][] = [
    ['what is no object', [], 'body', 'must be an object'],
    ['null', null, 'body', 'must be an object'],
    ['a removal of what does not exist', { nmae: null }, 'nmae', 'is not a known field'],
    ['a removal of a member that does not exist', { inner: { x: null } }, 'inner.x', 'is not a known field'],
    ['a removal of what the service sets', { id: null }, 'id', 'is set by the service'],
    ['a removal of what is required', { name: null }, 'name', 'is required'],
    ['a removal of a required member', { inner: { code: null } }, 'inner.code', 'is required'],
    ['a wrong value', { count: 0 }, 'count', 'must be at least 1'],
    ['what is nested without end', { extra: deep }, 'body', `must not be nested deeper than ${JSON_DEPTH_MAX}`],
  ];
  for (const [what, patch, field, problem] of table) {
    it(`refuses ${what}`, () => {
      assert.deepEqual(
        problems(() => patched(target, patch)),
        [{ field, problem }],
      );
    });
  }
});

describe('isDeeperThan', () => {
  it('counts levels of lists and objects, the outermost included', () => {
    for (const [value, levels] of [
      [1, 0],
      ['x', 0],
      [null, 0],
      [{}, 1],
      [[], 1],
      [{ a: [] }, 2],
      [[1, [{ a: 2 }]], 3],
    ] as const) {
      assert.equal(isDeeperThan(levels, value), false);
      if (levels > 0) assert.equal(isDeeperThan(levels - 1, value), true);
    }
  });
});

describe('text from outside', () => {
  const half = '\ud800';

  it('with half of a surrogate pair is refused anywhere', () => {
    const told = 'must be well-formed Unicode, and holds half of a surrogate pair';
    assert.deepEqual(
      problems(() => validate(schema, { name: `a${half}b` })),
      [{ field: 'name', problem: told }],
    );
    const inner = { name: 'abc', tags: ['x', half], extra: {} };
    assert.deepEqual(
      problems(() => validate(schema, inner)),
      [{ field: 'tags[1]', problem: told }],
    );
    const several = { name: half + half, tags: [half], extra: { deep: half } };
    const fields = ['name', 'tags[0]', 'extra.deep'];
    assert.deepEqual(
      problems(() => validate(schema, several)),
      fields.map((field) => ({ field, problem: told })),
    );
    const patch = { extra: { deep: [{ er: half }] } };
    assert.deepEqual(
      problems(() => patched({ name: 'abc' }, patch)),
      [{ field: 'extra.deep[0].er', problem: told }],
    );
  });

  it('may contain whole pairs', () => {
    assert.equal(validate(schema, { name: 'a😀b' }).name, 'a😀b');
  });

  it('is refused with U+0000, also as the name of a member, at any depth', () => {
    const body = { name: 'a\0b', extra: { data: ['\0'], 'c\0': 1, [half]: 1 } };
    assert.deepEqual(
      problems(() => validate(schema, body)),
      [
        { field: 'name', problem: 'must not hold U+0000' },
        { field: 'extra.c?', problem: 'must not hold U+0000 (in its name)' },
        {
          field: 'extra.?',
          problem: 'must be well-formed Unicode, and holds half of a surrogate pair (in its name)',
        },
        { field: 'extra.data[0]', problem: 'must not hold U+0000' },
      ],
    );
  });

  it('is no member named __proto__', () => {
    const body: unknown = JSON.parse('{"name":"abc","extra":{"a":{"__proto__":1}}}');
    assert.deepEqual(
      problems(() => validate(schema, body)),
      [{ field: 'extra.a.__proto__', problem: 'is a name that no member can have' }],
    );
  });
});

describe('the name of a member', () => {
  it('is refused with the reason', () => {
    const pairs = z.record(
      z
        .string()
        .min(1)
        .max(3)
        .regex(/^[a-z]*$/, 'Must be lower case'),
      z.string(),
    );
    assert.deepEqual(
      problems(() => validate(z.strictObject({ pairs }), { pairs: { '': 'x', ABCD: 'y' } })),
      [
        { field: 'pairs.""', problem: 'must have at least 1 character (in its name)' },
        { field: 'pairs.ABCD', problem: 'must have at most 3 characters (in its name)' },
        { field: 'pairs.ABCD', problem: 'must be lower case (in its name)' },
      ],
    );
  });
});

describe('a number', () => {
  it('is refused if it exceeds a double, because it would be stored as null', () => {
    const body: unknown = JSON.parse(
      '{"name":"abc","extra":{"most":1.7976931348623157e308,"more":[1e400],"less":-1e999}}',
    );
    const problem = 'must be a number between -1.7976931348623157e+308 and 1.7976931348623157e+308';
    assert.deepEqual(
      problems(() => validate(schema, body)),
      ['extra.less', 'extra.more[0]'].map((field) => ({ field, problem })),
    );
  });
});

describe('a value of the wrong type', () => {
  it('gets only this problem', () => {
    assert.deepEqual(
      problems(() => validate(schema, { name: 'abc', tags: 'xyz' })),
      [{ field: 'tags', problem: 'must be a list' }],
    );
  });

  it('is looked up in a set, also with many issues', () => {
    let looks = 0;
    const counted = (code: 'invalid_type' | 'too_small', at: number) => ({
      code,
      get path() {
        looks += 1;
        return ['items', at];
      },
    });
    const issues = Array.from({ length: 10_000 }, (_, at) =>
      counted(at % 2 === 0 ? 'invalid_type' : 'too_small', at >> 1),
    );
    const types = issues.filter(({ code }) => code === 'invalid_type');
    assert.deepEqual(distinctIssues(issues), types);
    looks = 0;
    distinctIssues(issues);
    assert.ok(looks <= 2 * issues.length, `${looks} looks at ${issues.length} issues`);
  });
});
