/**
 * Protection against cross-site request forgery: a form is accepted only with the token of its session or visitor, and only from a page
 * of this site (OWASP CSRF Prevention: a token bound to the session, and Fetch Metadata).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { randomBytes } from '../../kernel/ids.ts';

/** SHA-256. */
const TOKEN_BYTES = 32;

/** The field of every form that carries the token. */
export const FORGERY_FIELD = 'formToken';

/**
 * A token for the forms of one session. `cookie` is the secret in its cookie, without which nobody can derive a token. Each token gets
 * a new mask, so that the size of a compressed page reveals nothing about it (BREACH).
 */
export function formToken(cookie: string): string {
  const pad = randomBytes(TOKEN_BYTES);
  return Buffer.concat([pad, exclusiveOr(mac(cookie, 'form'), pad)]).toString('base64url');
}

/** Signs a text that a cookie keeps, so that nobody can change it. */
export function seal(cookie: string, text: string): string {
  const encoded = Buffer.from(text).toString('base64url');
  return `${encoded}.${mac(cookie, `flash ${encoded}`).toString('base64url')}`;
}

/** The inverse of `seal`; null for a text that was not sealed with this secret. */
export function unseal(cookie: string, sealed: string): string | null {
  const [encoded = '', tag = ''] = sealed.split('.');
  return isEqual(tag, mac(cookie, `flash ${encoded}`).toString('base64url'))
    ? Buffer.from(encoded, 'base64url').toString('utf8')
    : null;
}

/** Why a form is refused, or null. `publicHost` is the host that clients use; null if unknown. */
export function forgeryProblem(
  { headers }: Pick<IncomingMessage, 'headers'>,
  token: string | null,
  cookie: string,
  publicHost: string | null,
): string | null {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return 'the form was sent from another site';
  const { origin, host } = headers;
  if (origin !== undefined && !isOwnOrigin(origin, [host ?? null, publicHost])) {
    return 'the form was sent from another site';
  }
  return token !== null && isFormToken(token, cookie) ? null : 'the form is out of date';
}

function isFormToken(token: string, cookie: string): boolean {
  const bytes = Buffer.from(token, 'base64url');
  const [pad, masked] = [bytes.subarray(0, TOKEN_BYTES), bytes.subarray(TOKEN_BYTES)];
  return masked.length === TOKEN_BYTES && timingSafeEqual(exclusiveOr(masked, pad), mac(cookie, 'form'));
}

/** Compares host and port only, because a proxy may have ended TLS. */
function isOwnOrigin(origin: string, hosts: readonly (string | null)[]): boolean {
  if (!URL.canParse(origin)) return false;
  const { host } = new URL(origin);
  return hosts.some((own) => own !== null && own.toLowerCase() === host);
}

function mac(cookie: string, text: string): Buffer {
  return createHmac('sha256', cookie).update(text).digest();
}

function exclusiveOr(one: Uint8Array, other: Uint8Array): Buffer {
  return Buffer.from(one.map((byte, at) => byte ^ (other[at] ?? 0)));
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
