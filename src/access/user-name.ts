/** Which characters a user name may have: none that cannot be seen, and none that make it look like another (contract §4). */

/** Format characters, fillers, variation selectors, private use, unassigned code points and halves of surrogate pairs. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Co}\p{Cn}\p{Cs}\u2800]/u;
const SPACE = /[\s\p{Z}]/u;

/** The recommended scripts of Unicode (UAX 31, table 5). */
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

/** A predicate about the name, such as `mixes scripts`; null where nothing is wrong with it, or a space, which the schema refuses. */
export function userNameProblem(userName: string): string | null {
  if (/[\s\p{Cc}]/u.test(userName)) return null;
  if (INVISIBLE.test(userName)) return 'has a character that cannot be seen';
  const plain = userName.normalize('NFKC');
  // Some ligatures are whole phrases.
  if (SPACE.test(plain)) return 'stands for several words';
  if (ALLOWED.some((pattern) => pattern.test(plain))) return null;
  return 'mixes scripts, such as Latin and Cyrillic letters, or uses one that is not in current use: letters must be of one script, or of Latin with Chinese, Japanese or Korean';
}
