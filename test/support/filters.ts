/** Filters and events that share names and values, so that filters pass about as many events as they stop. */
import fc from 'fast-check';
import { type EventFilter, filterProblem, type Judged } from '../../src/domain/filter.ts';

const NAMES = ['a', 'b', '0', '__proto__', 'length'] as const;

const scalar: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(
    null,
    true,
    false,
    0,
    -0,
    1,
    2.5,
    -3,
    '',
    '1',
    'a',
    'ab',
    'ba',
    'ä',
    '\u{1f600}',
    '\uffff',
    'toString',
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

/** JSON values of a few levels. */
const value: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(fc.constantFrom(...NAMES), tie('value')), { maxLength: 3 }).map(objectOf),
  ),
})).value;

/** With own members of any name, as JSON.parse makes them. */
function objectOf(members: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const texts = [...new Map(members)].map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`);
  return JSON.parse(`{${texts.join(',')}}`) as Record<string, unknown>;
}

export const anyEvent: fc.Arbitrary<Judged> = fc.record({
  type: fc.constantFrom('a.b', 'a.c', 'b.a'),
  subject: fc.constantFrom(null, '', 'a', 'ab'),
  data: fc.array(fc.tuple(fc.constantFrom(...NAMES), value), { maxLength: 4 }).map(objectOf),
});

const path = fc.oneof(
  fc.constantFrom('type', 'subject', 'data'),
  fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }).map((steps) => ['data', ...steps].join('.')),
);

const list = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(item, { minLength: 1, maxLength: 3 });
const comparable = fc.oneof(fc.constantFrom<unknown>('', 'a', 'ab', 'ä', '\u{1f600}', 0, 1, 2.5), fc.integer());
const text = fc.constantFrom('', 'a', 'b', 'ab');

/** Conditions at one path: operators, and a plain value at the top. */
const operators: fc.Arbitrary<EventFilter> = fc.letrec<{ operators: EventFilter }>((tie) => ({
  operators: fc
    .dictionary(fc.constantFrom('x', 'y'), operator(tie('operators')), { minKeys: 1, maxKeys: 2 })
    .map((parts) => Object.assign({}, ...Object.values(parts)) as EventFilter),
})).operators;

function operator(more: fc.Arbitrary<EventFilter>): fc.Arbitrary<EventFilter> {
  const one = (name: string, operand: fc.Arbitrary<unknown>): fc.Arbitrary<EventFilter> =>
    operand.map((wanted): EventFilter => ({ [name]: wanted }));
  return fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    ...['$eq', '$neq'].map((name) => one(name, value)),
    ...['$gt', '$gte', '$lt', '$lte'].map((name) => one(name, comparable)),
    ...['$in', '$nin'].map((name) => one(name, list(value))),
    ...['$startsWith', '$endsWith'].map((name) => one(name, text)),
    one('$exist', fc.boolean()),
    ...['$and', '$or'].map((name) => one(name, list(more))),
    one('$not', more),
  );
}

const unbounded: fc.Arbitrary<EventFilter> = fc.letrec<{ filter: EventFilter }>((tie) => ({
  filter: fc
    .array(
      fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        fc.tuple(path, fc.oneof(operators, value)),
        fc.tuple(fc.constantFrom('$and', '$or'), list(tie('filter'))),
        fc.tuple(fc.constant('$not'), tie('filter')),
      ),
      { maxLength: 3 },
    )
    .map((members) => Object.fromEntries(members) as EventFilter),
})).filter;

/** Within the limits of the contract. */
export const anyFilter: fc.Arbitrary<EventFilter> = unbounded.filter((filter) => filterProblem(filter) === null);
