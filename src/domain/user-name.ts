/**
 * User names (contract §4.5): which characters they may have, and which names are equal. Invisible and look-alike characters are refused.
 */

import { USER_NAME_MAX_LENGTH } from './limits.ts';

/** Format characters, fillers, variation selectors, private use, unassigned code points and halves of surrogate pairs. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Co}\p{Cn}\p{Cs}\u2800]/u;
const SPACE = /[\s\p{Z}]/u;

/** The scripts that Unicode recommends (UAX 31, table 5). */
const SCRIPTS = (
  'Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul Hebrew Hiragana ' +
  'Kannada Katakana Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan'
).split(' ');

/**
 * The level «highly restrictive» of UTS 39, section 5.2: one script, or one of the combinations that Japanese, Chinese and Korean use.
 * Digits, punctuation and accents belong to every script.
 */
const ALLOWED: readonly RegExp[] = [
  ...SCRIPTS.map((script) => [script]),
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
].map((scripts) => {
  const members = ['Common', 'Inherited', ...scripts].map((script) => `\\p{scx=${script}}`).join('');
  return new RegExp(`^[${members}]*$`, 'u');
});

/** The problem with a name as a predicate, such as `mixes scripts`, or null. Spaces and the length are left to the schema. */
export function userNameProblem(userName: string): string | null {
  if (isTooLong(userName) || /[\s\p{Cc}]/u.test(userName)) return null;
  if (INVISIBLE.test(userName)) return 'has a character that cannot be seen';
  const plain = userName.normalize('NFKC');
  // Some ligatures are whole phrases.
  if (SPACE.test(plain)) return 'is a character for several words';
  if (ALLOWED.some((pattern) => pattern.test(plain))) return null;
  return (
    'mixes scripts, such as Latin and Cyrillic letters, or uses one that is not in current use: letters must be of ' +
    'one script, or of Latin with Chinese, Japanese or Korean'
  );
}

/** Whether a text has more code units than a user name can have. `normalize` takes quadratic time for a long run of accents. */
function isTooLong(text: string): boolean {
  return text.length > 2 * USER_NAME_MAX_LENGTH;
}

/**
 * The key under which a user name is unique: equal for names that differ only in case, width or composition (NFKC and case folding,
 * contract §4.5). Upper case in between turns `ß` into `ss`, as full case folding does. A text that is too long for a user name is its own
 * key.
 */
export function userNameKey(userName: string): string {
  if (isTooLong(userName)) return userName;
  return userName.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
}
