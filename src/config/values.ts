/** Parsers for the values of settings. Pure, except that relative paths start in the working folder. */
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { type Secret, secret } from '../kernel/secret.ts';
import { databaseUrlParts } from '../kernel/url.ts';
import { type Cidr, parseCidr } from '../outbound/ip-address.ts';
import { ambiguityOf } from '../outbound/plain-url.ts';
import { parseProxyUrl } from '../outbound/proxy.ts';

/** A hundred years. More is a mistake. */
const RETENTION_DAYS_MAX = 36_500;

/** The value, or a problem that follows the name of the setting: `must be …`. */
export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export function readPath(text: string): Reading<string> {
  return text === '' || text.includes('\0') ? refused('must be a path') : read(resolve(text));
}

/** An IP address, or a name to listen on. */
export function readHost(text: string): Reading<string> {
  const isName =
    /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/.test(text);
  // Numbers with dots that are not an address are a mistake, not a name.
  const looksNumeric = /^[\d.]+$/.test(text);
  if (isIP(text) !== 0 || (isName && !looksNumeric)) return read(text);
  return refused('must be an IP address or a host name, without a port');
}

export const PORT_MAX = 65_535;

export function readPort(text: string): Reading<number> {
  const port = Number(text);
  return /^\d{1,5}$/.test(text) && port <= PORT_MAX
    ? read(port)
    : refused(`must be a whole number from 0 to ${PORT_MAX}`);
}

/** 0 means forever. */
export function readDays(text: string): Reading<number> {
  const days = Number(text);
  return /^\d{1,5}$/.test(text) && days <= RETENTION_DAYS_MAX
    ? read(days)
    : refused(`must be a whole number of days from 0 (forever) to ${RETENTION_DAYS_MAX}`);
}

/** An origin. A URL with a path would not work, because all paths are fixed. */
export function readOrigin(text: string): Reading<string> {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && [url.origin, `${url.origin}/`].includes(url.href);
  return isOrigin && !/[?#@]/.test(text) && ambiguityOf(text, url) === null
    ? read(url.origin)
    : refused('must be http:// or https:// with a host and without path or credentials, such as https://edge.example');
}

/** CIDR blocks or addresses, separated by commas or spaces. May be empty. */
export function readCidrs(text: string): Reading<readonly Cidr[]> {
  const cidrs: Cidr[] = [];
  for (const block of text.split(/[\s,]+/).filter((part) => part !== '')) {
    const verdict = parseCidr(block);
    if (!verdict.ok) return refused(`must be a comma-separated list of CIDR blocks: ${verdict.description}`);
    cidrs.push(verdict.cidr);
  }
  return read(cidrs);
}

/** Addresses and CIDR blocks as texts, separated by commas or spaces. May be empty. */
export function readAddresses(text: string): Reading<readonly string[]> {
  const addresses = text.split(/[\s,]+/).filter((part) => part !== '');
  for (const address of addresses) {
    const verdict = parseCidr(address);
    if (!verdict.ok)
      return refused(`must be a comma-separated list of IP addresses and CIDR blocks: ${verdict.description}`);
  }
  return read(addresses);
}

/**
 * Origins, separated by commas or spaces. May be empty. Plain HTTP is only for the loopback address: over a network, anyone on the way
 * could change the page around the portal.
 */
export function readFrameAncestors(text: string): Reading<readonly string[]> {
  const origins: string[] = [];
  for (const part of text.split(/[\s,]+/).filter((one) => one !== '')) {
    const origin = readOrigin(part);
    // A policy would take `*` and other patterns for more than one origin, and `;` for its own end.
    const isOne = origin.ok && /^https?:\/\/[a-z0-9.-]+(?::\d+)?$/.test(origin.value);
    const isSafe = isOne && (origin.value.startsWith('https:') || LOOPBACK_ORIGIN.test(origin.value));
    if (!origin.ok || !isSafe) {
      const bad = JSON.stringify(part.slice(0, 100));
      return refused(`must be a comma-separated list of https:// origins, such as https://shop.example, not ${bad}`);
    }
    if (!origins.includes(origin.value)) origins.push(origin.value);
  }
  return read(origins);
}

const LOOPBACK_ORIGIN = /^http:\/\/(?:localhost|127\.0\.0\.1)(?::\d+)?$/;

/** A secret, because the URL may contain a password. The problem does not repeat it either. */
export function readProxy(text: string): Reading<Secret> {
  try {
    parseProxyUrl(text);
    return read(secret(text));
  } catch {
    return refused('must be the URL of an HTTP proxy, as http://[user:password@]host:port');
  }
}

export function readOneOf<T extends string>(allowed: readonly T[]): (text: string) => Reading<T> {
  return (text) => {
    const choice = allowed.find((value) => value === text);
    return choice === undefined ? refused(`must be one of ${allowed.join(', ')}`) : read(choice);
  };
}

/** A secret, because the URL may contain a password. It may name several hosts, so it need not be a URL that Node can parse. */
export function readDatabaseUrl(text: string): Reading<Secret> {
  return /^[^\s\p{Cc}]+$/u.test(text) && databaseUrlParts(text) !== null
    ? read(secret(text))
    : refused(
        'must be the URL of a PostgreSQL database, as postgres://user[:password]@host[:port]/database; ' +
          'in a password, write / as %2F and ? as %3F',
      );
}

function read<T>(value: T): Reading<T> {
  return { ok: true, value };
}

function refused(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}
