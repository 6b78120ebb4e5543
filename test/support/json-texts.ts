/** JSON texts that JSON.parse and JSON.stringify would not keep as they are. */
import fc from 'fast-check';

const digits = (max: number): fc.Arbitrary<string> =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: max }).map((list) => list.join(''));
const optional = (text: fc.Arbitrary<string>): fc.Arbitrary<string> => fc.oneof(fc.constant(''), text);

/** Numbers of RFC 8259 §6 with any digits. */
const numberText: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constant('0'),
      digits(25).map((text) => `1${text}`),
    ),
    optional(digits(25).map((text) => `.${text}`)),
    optional(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-', 'e-'), digits(3)).map((parts) => parts.join(''))),
  )
  .map((parts) => parts.join(''));

const unit = fc.oneof(
  fc.constantFrom(
    '\\u0000',
    '\\ud800',
    '\\udc00',
    '\\u0041',
    '\\"',
    '\\\\',
    '\\/',
    '\\n',
    '\\u007f',
    ' ',
    ':',
    ',',
    '{',
    ']',
    '\u2028',
    'ü',
    '😀',
    '\x7f',
  ),
  fc.string({ maxLength: 3 }).map((text) => JSON.stringify(text).slice(1, -1)),
);
const stringText: fc.Arbitrary<string> = fc.array(unit, { maxLength: 4 }).map((units) => `"${units.join('')}"`);
const nameText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('"__proto__"', '"constructor"', '""', '"0"', '"10"', '"2"', '"data"', '"events"'),
  stringText,
);

const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('true', 'false', 'null'),
    numberText,
    stringText,
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    tie('object'),
  ),
  object: objectOf(tie('value')),
}));

function objectOf(member: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .uniqueArray(fc.tuple(nameText, member), { maxLength: 5, selector: ([name]) => JSON.parse(name) as string })
    .map((members) => `{${members.map((pair) => pair.join(':')).join(',')}}`);
}

/** The compact text of an object without repeated names. */
export const jsonText: fc.Arbitrary<string> = objectOf(value);

/** The same, and with white space between its parts. */
export const looseJsonText: fc.Arbitrary<{ readonly loose: string; readonly json: string }> = fc
  .tuple(jsonText, fc.constantFrom('', ' ', '\n', '\r\n\t', '  '))
  .map(([json, space]) => ({
    json,
    loose: json
      .replace(/"(?:[^"\\]|\\.)*"|[[\]{},:]/gs, (part) => (part === '{' ? part : `${space}${part}${space}`))
      .trim(),
  }));
