/** Requests to publish are read over their bytes, in steps that are short however large the request is. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { EVENT_REQUEST_BYTES } from '../../src/domain/limits.ts';
import { type CheckedEvent, readEvents, readingEvents } from '../../src/events/event-input.ts';
import { LARGE_JSON_BYTES, READ_AT_ONCE } from '../../src/kernel/json-parts.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import { looseJsonText } from '../support/json-texts.ts';

const TYPE = '"type":"order.placed"';
const MEMBERS = Array.from({ length: 20_000 }, (_, n) => `"${n * 7}":1`).join(',');

/** The field of the refusal, or the texts of the data that were read. */
function outcome(text: string): unknown {
  try {
    return [readEvents(text)].flat().map(({ dataJson }) => dataJson);
  } catch (error) {
    const { code, details } = error as Refusal;
    return details === null ? code : details.map(({ field }) => field);
  }
}

describe('the data of events', () => {
  it('is kept as it came without white space, in small and in large requests', () => {
    fc.assert(
      fc.property(fc.array(looseJsonText, { minLength: 1, maxLength: 3 }), fc.boolean(), (texts, isLarge) => {
        const events = texts.map(
          ({ loose }) => `{ "data" : ${loose}${isLarge ? ' '.repeat(LARGE_JSON_BYTES) : ''}, ${TYPE}}`,
        );
        assert.deepEqual(
          outcome(`{"events": [${events.join(' , ')}]}`),
          texts.map(({ json }) => json),
        );
      }),
      { numRuns: 300, endOnFailure: true },
    );
  });

  it('is refused with a name that is twice in an object, also with another spelling or among many, and nothing else is', () => {
    const few = Array.from({ length: 15 }, (_, n) => `"k${n}":1`).join(',');
    for (const [json, field] of [
      ['{"é":1,"\\u00e9":2}', 'data.?'],
      [`{${few},"b":1,"b":1}`, 'data.b'],
      [`{${MEMBERS},"${7 * 19_999}":1}`, `data.${7 * 19_999}`],
      // These have one hash.
      ['{"costarring":1,"liquid":1}', null],
      ['{"a":{"a":{"b":1}},"b":{"a":1}}', null],
      [`{${MEMBERS}}`, null],
    ] as const)
      assert.deepEqual(outcome(`{${TYPE},"data":${json}}`), field === null ? [json] : [field], json.slice(0, 80));
  });
});

describe('a request of about 2 MiB', () => {
  const fill = (unit: (n: number) => string, separator: string): string => {
    let text = '';
    for (let n = 0; text.length < EVENT_REQUEST_BYTES / 4; n += 1) text += `${n === 0 ? '' : separator}${unit(n)}`;
    return text;
  };
  const cases: Readonly<Record<string, string>> = {
    'one object with many members': `{${TYPE},"data":{${fill((n) => `"${n * 7}":1`, ',')}}}`,
    'one long string': `{${TYPE},"data":{"a":"${fill(() => 'xxxxxxxx', '')}"}}`,
    'one long name': `{${TYPE},"data":{"${fill(() => 'xxxxxxxx', '')}":1}}`,
    'white space': `{${TYPE},${fill(() => '        ', '')}"data":{}}`,
    'white space in data': `{${TYPE},"data":{${fill(() => '        ', '')}}}`,
    'many brackets': `{${TYPE},"data":${fill(() => '[[[[[[[[', '')}`,
    'a long number': `{${TYPE},"data":{"a":${fill(() => '11111111', '')}}}`,
    'large data': `{"events":[${fill(() => `{${TYPE},"data":{${MEMBERS}}}`, ',')}]}`,
    'many events': `{"events":[${fill(() => `{${TYPE},"data":{${'"a":1,'.repeat(400)}"b":1}}`, ',')}]}`,
  };
  for (const [what, text] of Object.entries(cases))
    it(`with ${what} is read with a pause after each ${READ_AT_ONCE} bytes`, () => {
      const bytes = Buffer.from(text);
      const work = readingEvents(bytes);
      let pauses = 0;
      let events: readonly CheckedEvent[] = [];
      try {
        for (let step = work.next(); ; step = work.next()) {
          if (step.done === true) {
            events = [step.value].flat();
            break;
          }
          pauses += 1;
        }
      } catch (error) {
        assert.equal((error as Refusal).status, 400);
      }
      assert.ok(pauses >= Math.floor(bytes.length / READ_AT_ONCE) + events.length, `${pauses} pauses`);
    });
});
