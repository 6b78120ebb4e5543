/**
 * Passwords of portal accounts: scrypt at the parameters that OWASP's Password Storage Cheat Sheet gives first
 * (N = 2^17, r = 8, p = 1), which stand in the hash so that later ones may be stronger.
 */
import { type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import type { Random } from '../kernel/ids.ts';
import { PASSWORD_MAX_LENGTH } from '../kernel/limits/limits.ts';
import { PASSWORDS_WAITING_MAX } from '../kernel/limits/portal.ts';
import { Refusal } from '../kernel/refusal.ts';

type Parameters = { readonly log2N: number; readonly r: number; readonly p: number };

/** The cost of new hashes: log2 of scrypt's N. */
export const PASSWORD_LOG2_N = 17;
let log2N = PASSWORD_LOG2_N;
const current = (): Parameters => ({ log2N, r: 8, p: 1 });
/** The r of hashes that this version makes; one with a larger r is not ours. */
const R_MAX = 8;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** PHC string format: `$scrypt$ln=17,r=8,p=1$<salt>$<hash>`, Base64 without padding. */
const FORMAT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;
/** One hash with these takes 1 GiB; a row that asks for more was not written by us. */
const LOG2_N_MAX = 20;

/** The hash of a password, for `user_account.password_hash`. Takes some tenths of a second and 128 MiB. Throws 503 as `verifyPassword`. */
export async function hashPassword(password: string, random: Random): Promise<string> {
  const salt = random(SALT_BYTES);
  const parameters = current();
  return format(parameters, salt, await derive(password, salt, parameters));
}

/**
 * Whether the password is the one that was hashed. Where there is no hash (no such account, or one without a password)
 * the answer is no and takes as long, so that time does not tell which accounts there are. Throws for what is not a hash, and 503
 * where too many passwords wait to be hashed.
 */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const { parameters, salt, expected } = parse(hash ?? nobody());
  // Longer ones are never set; refusing them unread keeps them from costing time.
  if (password.length > PASSWORD_MAX_LENGTH) return false;
  const actual = await derive(password, salt, parameters);
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

/** A password for a person to type once: 120 random bits as four groups of six, without look-alikes. */
export function makePassword(random: Random): string {
  const symbols = Array.from(random(24), (byte) => ALPHABET[byte % ALPHABET.length]);
  return [0, 6, 12, 18].map((start) => symbols.slice(start, start + 6).join('')).join('-');
}

/** 32 symbols, so that a byte gives five bits of even chance. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
/** Costs as much to verify as any other new hash. */
const nobody = (): string => format(current(), new Uint8Array(SALT_BYTES), new Uint8Array(HASH_BYTES));

function format({ log2N, r, p }: Parameters, salt: Uint8Array, hash: Uint8Array): string {
  return `$scrypt$ln=${log2N},r=${r},p=${p}$${unpadded(salt)}$${unpadded(hash)}`;
}

function parse(hash: string): { parameters: Parameters; salt: Uint8Array; expected: Uint8Array } {
  const [, log2N, r, p, salt = '', expected = ''] = FORMAT.exec(hash) ?? [];
  const parameters = { log2N: Number(log2N), r: Number(r), p: Number(p) };
  if (log2N === undefined || parameters.log2N > LOG2_N_MAX || parameters.r > R_MAX) {
    throw new Error('the password hash is not one that this version can check');
  }
  return { parameters, salt: Buffer.from(salt, 'base64'), expected: Buffer.from(expected, 'base64') };
}

/** One at a time: many sign-ins at once would otherwise take 128 MiB each. */
let turn: Promise<unknown> = Promise.resolve();
/** Those whose turn has not ended. Of all together, whatever they are hashed for: whoever fills the queue keeps everybody waiting. */
let waiting = 0;

function derive(password: string, salt: Uint8Array, { log2N, r, p }: Parameters): Promise<Buffer> {
  if (waiting >= PASSWORDS_WAITING_MAX) {
    throw new Refusal('unavailable', 'too many passwords are being checked', { headers: { 'Retry-After': '5' } });
  }
  const options: ScryptOptions = { N: 2 ** log2N, r, p, maxmem: 2 ** log2N * r * 128 * 2 };
  // The same password may be typed in several Unicode forms (RFC 8265 §4.2).
  const typed = password.normalize('NFC');
  const derived = turn.then(
    () =>
      new Promise<Buffer>((resolve, reject) => {
        scrypt(typed, salt, HASH_BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)));
      }),
  );
  waiting += 1;
  const end = (): void => {
    waiting -= 1;
  };
  turn = derived.then(end, end);
  return derived;
}

function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}
