/** User names that look alike are one name, and none has characters that deceive (contract §4.5). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { userReader } from '../../src/access/users.ts';
import { userNameKey, userNameProblem } from '../../src/domain/user-name.ts';
import { errorOf } from '../support/client.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { startService } from '../support/service.ts';
import { ACTOR, makeUser, openTestServices } from '../support/services.ts';
import { leavingNothing } from '../support/store.ts';

repeatsInSlowTier('postgres');

const ALIKE: readonly [string, string, string][] = [
  ['case', 'ada', 'ADA'],
  ['the case of other letters', 'jörg', 'JÖRG'],
  ['composition', 'jörg', 'jörg'.normalize('NFD')],
  ['width', 'admin', 'ａｄｍｉｎ'],
  ['a letter for mathematics', 'admin', '𝐚dmin'],
  ['a ligature', 'office', 'oﬃce'],
  ['the sharp s', 'strasse', 'STRAẞE'],
  ['the long s', 'sales', 'ſales'],
  ['a Greek sigma at the end', 'νικος', 'ΝΙΚΟΣ'],
];

const REFUSED: readonly [string, string, RegExp][] = [
  ['a zero width space', 'ad\u200bmin', /cannot be seen|invisible/],
  ['a zero width joiner', 'ad\u200dmin', /cannot be seen|invisible/],
  ['a soft hyphen', 'ad\u00admin', /cannot be seen|invisible/],
  ['a mark that turns the direction', 'ad\u202emin', /cannot be seen|invisible/],
  ['a variation selector', 'ad\ufe0fmin', /cannot be seen|invisible/],
  ['a Hangul filler', 'ad\u3164min', /cannot be seen|invisible/],
  ['a tag character', 'ad\u{e0061}min', /cannot be seen|invisible/],
  ['a private character', 'ad\ue000min', /cannot be seen|invisible/],
  ['a Cyrillic letter among Latin ones', 'аdmin', /mixes scripts/],
  ['a Greek letter among Latin ones', 'αdmin', /mixes scripts/],
  ['Cyrillic with Greek', 'жω', /mixes scripts/],
  ['Korean with Japanese', '김さん', /mixes scripts/],
  ['Cyrillic with Japanese', 'жさ', /mixes scripts/],
  ['a phrase in one character', 'ﷺ', /several words/],
];

const TAKEN = [
  'ada',
  'ada.lovelace-2@example.com',
  'jörg',
  'ñandú',
  'Οδυσσεύς',
  'сергей',
  'שרה',
  'محمد',
  'देवी',
  'สมชาย',
  '김철수',
  '山田太郎',
  'やまだタロー',
  'yamada山田さん',
  'zhang张伟',
  'kim김',
  '12-34',
  'o’neill',
  '李ㄌㄧ',
];

describe('user names', () => {
  for (const [what, one, other] of ALIKE) {
    it(`that differ in ${what} are one name`, async (t) => {
      const s = await openTestServices(t);
      const { id } = await makeUser(s, { userName: one });
      const another = await makeUser(s, { userName: 'another' });
      const conflict = { code: 'conflict', fields: ['userName'] } as const;
      await leavingNothing(s, () => refused(() => s.users.create({ userName: other }, ACTOR), conflict));
      await leavingNothing(s, () => refused(() => s.users.patch(another.id, { userName: other }, ACTOR), conflict));
      assert.equal((await s.store.users.getByName(null, other))?.id, id);
      assert.equal((await s.users.patch(id, { userName: other }, ACTOR)).userName, other);
    });
  }

  for (const [what, userName, says] of REFUSED) {
    it(`have not ${what}`, async (t) => {
      const s = await openTestServices(t);
      const { id } = await makeUser(s);
      const expected = { code: 'validation_failed', says } as const;
      await leavingNothing(s, () => refused(() => s.users.create({ userName }, ACTOR), expected));
      await leavingNothing(s, () => refused(() => s.users.patch(id, { userName }, ACTOR), expected));
    });
  }

  it('are of any script in use, and of the combinations of East Asia', () => {
    assert.deepEqual(
      TAKEN.map((name) => [name, userNameProblem(name)]).filter(([, problem]) => problem !== null),
      [],
    );
  });

  it('are judged and compared only if they are not too long', async () => {
    // Normalizing it would take half an hour.
    const accents = `a${'\u0315\u0300'.repeat(1_000_000)}`;
    assert.equal(userNameProblem(accents), null);
    assert.equal(userNameKey(accents), accents);
    const userName = `${'a'.repeat(200)}я`;
    await refused(async () => userReader.create({ userName }), {
      code: 'validation_failed',
      says: /must be 1 to 100 characters without spaces or invisible ones$/,
    });
  });

  it('that look alike are taken once when they come at the same time', async (t) => {
    const { admin } = await startService(t, { logLevel: 'warn' });
    const names = ['ada', 'ADA', 'Ada', 'ａｄａ', 'aDa', 'adA'];
    const replies = await Promise.all(names.map((userName) => admin.post('users', { userName })));
    assert.equal(replies.filter(({ status }) => status === 201).length, 1);
    for (const reply of replies) if (reply.status !== 201) assert.equal(errorOf(reply).code, 'conflict');
  });
});
