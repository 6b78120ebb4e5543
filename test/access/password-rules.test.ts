import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CHOSEN_PASSWORD_MAX_LENGTH, CHOSEN_PASSWORD_MIN_LENGTH } from '../../src/access/limits.ts';
import { passwordProblem } from '../../src/access/password.ts';

const TOO_SHORT = 'must have at least 12 characters';
const TOO_LONG = 'must have at most 200 characters';
const GUESSED = 'is too easy to guess: choose another one';

const LONG = 'Seventeen badgers played chess at dawn. ';

describe('a chosen password', () => {
  const table: readonly [password: string, problem: string | null, userName?: string][] = [
    ['', TOO_SHORT],
    ['elevenchars', TOO_SHORT],
    ['twelve chars', null],
    ['            ', GUESSED],
    ['correct horse battery staple', null],
    ['Åse går på tur i fjellet', null],
    ['пароль из слов', null],
    ['🦊🐻🦁🐯🐨🐼', null],
    ['tab\tnull\0and\nnewline', null],
    ['83920174650218', null],
    [LONG.repeat(5), null],
    [`${LONG.repeat(5)}.`, TOO_LONG],
    // Normalizing it would take half an hour.
    [`a${'\u0315\u0300'.repeat(1_000_000)}`, TOO_LONG],
    // Composed it has eleven characters, as it was typed twelve.
    ['abcdefghije\u0301', TOO_SHORT],
    ['123456789012', GUESSED],
    ['210987654321', GUESSED],
    ['abcdefghijklm', GUESSED],
    ['QWERTYUIOPAS', GUESSED],
    ['qwertyuiopqwertyuiop', GUESSED],
    ['1qaz2wsx3edc', GUESSED],
    ['aaaaaaaaaaaaaaaaaaaa', GUESSED],
    ['121212121212', GUESSED],
    ['abcdeabcdeabcde', GUESSED],
    ['password1234', GUESSED],
    ['PasswordPassword', GUESSED],
    ['Welcome2024!!', GUESSED],
    ['letmein-letmein', GUESSED],
    ['sallyport-admin!', GUESSED],
    ['the secret of the master', null],
    ['grace.hopper', GUESSED, 'grace.hopper'],
    ['Grace.Hopper1', GUESSED, 'grace.hopper'],
    ['grace.hopper writes compilers', null, 'grace.hopper'],
    ['administrator.hopper', GUESSED, 'administrator.hopper'],
    ['password-password', GUESSED, 'pass'],
    ['also a fine password phrase', null, 'al'],
  ];
  for (const [password, problem, userName = 'someone'] of table) {
    const shown = JSON.stringify(password.length > 40 ? `${password.slice(0, 37)}…` : password);
    it(`${shown} of ${userName} ${problem ?? 'is taken'}`, () => {
      assert.equal(passwordProblem(password, userName), problem);
    });
  }

  it('is accepted if it is random, with any characters', () => {
    const unit = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzäß漢字🦊 0123456789!"$%&/');
    const random = fc.array(unit, { minLength: 24, maxLength: 90 }).map((units) => units.join(''));
    fc.assert(
      fc.property(random, (password) => {
        fc.pre(new Set(password).size > 8);
        assert.equal(passwordProblem(password, 'someone'), null);
      }),
    );
  });

  it('is judged without backtracking', () => {
    const hostile = ['1'.repeat(CHOSEN_PASSWORD_MAX_LENGTH - 1), 'pass'.repeat(49), `${'password'.repeat(24)}!`];
    for (const password of hostile) assert.equal(passwordProblem(password, 'pass'), GUESSED);
  });

  it('may be as short as the limit and no shorter', () => {
    const text = 'zfq8 mvr2 kxw';
    assert.equal(passwordProblem(text.slice(0, CHOSEN_PASSWORD_MIN_LENGTH), 'someone'), null);
    assert.equal(passwordProblem(text.slice(0, CHOSEN_PASSWORD_MIN_LENGTH - 1), 'someone'), TOO_SHORT);
  });
});
