/**
 * Passwords of portal accounts: hashing and the rules for choosing one. Hashes use scrypt with the first parameters of OWASP's Password
 * Storage Cheat Sheet (N = 2^17, r = 8, p = 1). Each hash contains its parameters, so that later hashes can be stronger.
 */

import { type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { PASSWORD_MAX_LENGTH } from '../domain/limits.ts';
import { createFairQueue, type Owner } from '../kernel/fair-queue.ts';
import type { Random } from '../kernel/ids.ts';
import { CHOSEN_PASSWORD_MAX_LENGTH, CHOSEN_PASSWORD_MIN_LENGTH } from './limits.ts';

/** The cost of new password hashes: log2 of scrypt's N. */
export const PASSWORD_LOG2_N = 17;

/**
 * How many passwords may wait to be hashed, in all and for one network or customer. One is hashed at a time, which takes 128 MiB and some
 * tenths of a second.
 */
export const PASSWORDS_WAITING_MAX = 60;
export const PASSWORDS_WAITING_PER_OWNER = 5;

type ScryptParameters = { readonly log2N: number; readonly r: number; readonly p: number };

let log2N = PASSWORD_LOG2_N;
const current = (): ScryptParameters => ({ log2N, r: 8, p: 1 });
/** The r of new hashes. A larger r is not from this service. */
const R_MAX = 8;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** PHC string format: `$scrypt$ln=17,r=8,p=1$<salt>$<hash>`, Base64 without padding. */
const FORMAT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;
/** Needs 1 GiB. A larger N is not from this service. */
const LOG2_N_MAX = 20;

/**
 * Hashes a password for `user_account.password_hash`. Takes a few tenths of a second and 128 MiB. `owner` and refusals are those of
 * `verifyPassword`.
 */
export async function hashPassword(password: string, random: Random, owner: Owner = null): Promise<string> {
  const salt = random(SALT_BYTES);
  const parameters = current();
  return format(parameters, salt, await derive(password, salt, parameters, owner));
}

/**
 * Whether the password matches the hash. Without a hash (no such account, or no password set) the answer is false and takes as long, so
 * that timing does not reveal which accounts exist. Counts towards the share of `owner`, a network before signing in. Throws an Error for
 * an invalid hash, 429 if too many passwords of the owner wait, and 503 if too many of all do.
 */
export async function verifyPassword(password: string, hash: string | null, owner: Owner = null): Promise<boolean> {
  const { parameters, salt, expected } = parse(hash ?? nobody());
  // No account has a longer one, and hashing it would cost time.
  if (password.length > PASSWORD_MAX_LENGTH) return false;
  const actual = await derive(password, salt, parameters, owner);
  return timingSafeEqual(actual, expected) && hash !== null;
}

/**
 * Sets the cost of new hashes in this process, and returns the former. Only tests change it: at the full cost they would spend
 * minutes on hashes. Hashes that are already stored are verified at their own cost.
 */
export function setPasswordCost(next: number): number {
  const former = log2N;
  log2N = next;
  return former;
}

/** A random password to type once: 120 bits in four groups of six characters, without look-alikes. */
export function makePassword(random: Random): string {
  const symbols = Array.from(random(24), (byte) => ALPHABET[byte % ALPHABET.length]);
  return [0, 6, 12, 18].map((start) => symbols.slice(start, start + 6).join('')).join('-');
}

/** 32 symbols: each byte gives five uniform bits. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
/** Takes as long to verify as any other new hash. */
const nobody = (): string => format(current(), new Uint8Array(SALT_BYTES), new Uint8Array(HASH_BYTES));

function format({ log2N, r, p }: ScryptParameters, salt: Uint8Array, hash: Uint8Array): string {
  return `$scrypt$ln=${log2N},r=${r},p=${p}$${unpadded(salt)}$${unpadded(hash)}`;
}

function parse(hash: string): { parameters: ScryptParameters; salt: Uint8Array; expected: Uint8Array } {
  const [, log2N, r, p, salt = '', expected = ''] = FORMAT.exec(hash) ?? [];
  const parameters = { log2N: Number(log2N), r: Number(r), p: Number(p) };
  if (log2N === undefined || parameters.log2N > LOG2_N_MAX || parameters.r > R_MAX) {
    throw new Error('the password hash is not one that this version can check');
  }
  return { parameters, salt: Buffer.from(salt, 'base64'), expected: Buffer.from(expected, 'base64') };
}

/** Passwords are hashed one at a time: each hash takes 128 MiB. */
const hashing = createFairQueue({
  what: 'passwords that wait to be checked',
  places: 1,
  waiting: PASSWORDS_WAITING_MAX,
  waitingPerOwner: PASSWORDS_WAITING_PER_OWNER,
  retryAfterSeconds: 5,
});

function derive(password: string, salt: Uint8Array, { log2N, r, p }: ScryptParameters, owner: Owner): Promise<Buffer> {
  const options: ScryptOptions = { N: 2 ** log2N, r, p, maxmem: 2 ** log2N * r * 128 * 2 };
  // The same password may be typed in several Unicode forms (RFC 8265 §4.2).
  const typed = password.normalize('NFC');
  return hashing.run(
    owner,
    () =>
      new Promise<Buffer>((resolve, reject) => {
        scrypt(typed, salt, HASH_BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)));
      }),
  );
}

function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}

/**
 * Why a password that a person chose is refused, as a predicate, or null (OWASP ASVS 5.0, 6.2). It must be long enough and not easy to
 * guess; any characters are allowed and none are required.
 */
export function passwordProblem(password: string, userName: string): string | null {
  const tooLong = `must have at most ${CHOSEN_PASSWORD_MAX_LENGTH} characters`;
  // It could not be verified, and `normalize` takes quadratic time for a long run of accents.
  if (password.length > PASSWORD_MAX_LENGTH) return tooLong;
  // The form that is hashed (RFC 8265 §4.2).
  const typed = password.normalize('NFC');
  if (typed.length < CHOSEN_PASSWORD_MIN_LENGTH) return `must have at least ${CHOSEN_PASSWORD_MIN_LENGTH} characters`;
  if (typed.length > CHOSEN_PASSWORD_MAX_LENGTH) return tooLong;
  return isGuessedFirst(typed.toLowerCase(), userName.normalize('NFC').toLowerCase())
    ? 'is too easy to guess: choose another one'
    : null;
}

/** The length that must remain without common words and the user name. */
const OWN_LENGTH_MIN = 8;
/** Distinct characters: `121212121212` has two. */
const DISTINCT_MIN = 5;

function isGuessedFirst(folded: string, userName: string): boolean {
  const turned = [...folded].reverse().join('');
  // Each may contain the other, so both orders are tried.
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

/** The most common words in lists of leaked passwords, and the name of this service. */
const WORDS = new RegExp(
  'pass(?:word|wort)?|letmein|welcome|admin(?:istrator)?|sallyport|change(?:me|it)|iloveyou|qwerty|football|monkey|dragon|secret|default|' +
    'login|master|123456789|123456|12345|1234|123',
  'g',
);
/** `abcdefabcdef`. */
const REPEATED = /^(.{1,6})\1+$/s;
/** Runs along the alphabet and the keyboard, repeated. */
const RUNS: readonly string[] = [
  '0123456789',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'qwertyuiopasdfghjklzxcvbnm',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p',
].map((run) => run.repeat(Math.ceil((2 * CHOSEN_PASSWORD_MAX_LENGTH) / run.length)));
