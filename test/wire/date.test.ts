import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatImfFixdate, parseImfFixdate } from '../../src/wire/signature.ts';

const YEAR_100 = Date.UTC(100, 0, 1);
const YEAR_10000 = Date.UTC(10_000, 0, 1);

describe('IMF-fixdate', () => {
  it('formats the example of RFC 9110 and rounds down to the second', () => {
    assert.equal(formatImfFixdate(784_111_777_000), 'Sun, 06 Nov 1994 08:49:37 GMT');
    assert.equal(formatImfFixdate(784_111_777_999), 'Sun, 06 Nov 1994 08:49:37 GMT');
    assert.equal(formatImfFixdate(-1), 'Wed, 31 Dec 1969 23:59:59 GMT');
  });

  it('parses what it formats, to the second, for the years 100 to 9999', () => {
    fc.assert(
      fc.property(fc.integer({ min: YEAR_100 / 1000, max: YEAR_10000 / 1000 - 1 }), (seconds) => {
        assert.equal(parseImfFixdate(formatImfFixdate(seconds * 1000)), seconds * 1000);
      }),
      { numRuns: 1000 },
    );
  });

  it('never throws, and parses only what it would format', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const at = parseImfFixdate(text);
        if (at !== null) assert.equal(formatImfFixdate(at), text);
      }),
    );
  });

  const refused = {
    'the empty text': '',
    'the RFC 850 format': 'Sunday, 06-Nov-94 08:49:37 GMT',
    'the asctime format': 'Sun Nov  6 08:49:37 1994',
    'the wrong weekday': 'Mon, 06 Nov 1994 08:49:37 GMT',
    'a day that does not exist': 'Thu, 30 Feb 2023 08:49:37 GMT',
    'a month that does not exist': 'Sun, 06 Nov 1994 08:49:37 GMT'.replace('Nov', 'Nox'),
    'the hour 24': 'Sun, 06 Nov 1994 24:00:00 GMT',
    'the second 60': 'Sat, 31 Dec 2016 23:59:60 GMT',
    'one digit of the day': 'Sun, 6 Nov 1994 08:49:37 GMT',
    'another zone': 'Sun, 06 Nov 1994 08:49:37 UTC',
    'lower case': 'sun, 06 nov 1994 08:49:37 gmt',
    'white space around': ' Sun, 06 Nov 1994 08:49:37 GMT',
    'a line feed at the end': 'Sun, 06 Nov 1994 08:49:37 GMT\n',
    'ISO 8601': '1994-11-06T08:49:37Z',
  };
  for (const [what, text] of Object.entries(refused)) {
    it(`refuses ${what}`, () => assert.equal(parseImfFixdate(text), null));
  }
});
