/**
 * What a person may choose as a password (OWASP ASVS 5.0, 6.2): long enough, any characters, none that must be there, and not
 * one that guessing begins with.
 */
import { CHOSEN_PASSWORD_MAX_LENGTH, CHOSEN_PASSWORD_MIN_LENGTH } from '../kernel/limits/limits.ts';

/** What is wrong with the password, to be put after its name, or null. The user's name is among the first things that are guessed. */
export function passwordProblem(password: string, userName: string): string | null {
  // As it is hashed: composed, whichever way it was typed (RFC 8265 §4.2).
  const typed = password.normalize('NFC');
  if (typed.length < CHOSEN_PASSWORD_MIN_LENGTH) return `must have at least ${CHOSEN_PASSWORD_MIN_LENGTH} characters`;
  if (typed.length > CHOSEN_PASSWORD_MAX_LENGTH) return `must have at most ${CHOSEN_PASSWORD_MAX_LENGTH} characters`;
  return isGuessedFirst(typed.toLowerCase(), userName.normalize('NFC').toLowerCase())
    ? 'is one of those that are guessed first'
    : null;
}

/** What must be left of a password once the words that everybody tries are taken out of it. */
const OWN_LENGTH_MIN = 8;
/** `121212121212` has two. */
const DISTINCT_MIN = 5;

function isGuessedFirst(folded: string, userName: string): boolean {
  const turned = [...folded].reverse().join('');
  // Either may be a part of the other.
  const withoutBoth = [
    folded.replaceAll(userName, '').replace(WORDS, ''),
    folded.replace(WORDS, '').replaceAll(userName, ''),
  ];
  const own = Math.min(...withoutBoth.map(({ length }) => length));
  return (
    (own < OWN_LENGTH_MIN && own < folded.length) ||
    new Set(folded).size < DISTINCT_MIN ||
    REPEATED.test(folded) ||
    RUNS.some((run) => run.includes(folded) || run.includes(turned))
  );
}

/** Words that head every list of leaked passwords, and the name of this service. */
const WORDS =
  /pass(?:word|wort)?|letmein|welcome|admin(?:istrator)?|sallyport|change(?:me|it)|iloveyou|qwerty|football|monkey|dragon|secret|default|login|master|123456789|123456|12345|1234|123/g;
/** `abcdefabcdef`. */
const REPEATED = /^(.{1,6})\1+$/s;
/** Walks along the alphabet and over the keys, round and round. */
const RUNS: readonly string[] = [
  '0123456789',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'qwertyuiopasdfghjklzxcvbnm',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p',
].map((run) => run.repeat(Math.ceil((2 * CHOSEN_PASSWORD_MAX_LENGTH) / run.length)));
