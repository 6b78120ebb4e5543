/** One line about an entry of a user who comes or goes: its role, its length, its place. */
import type { Change } from '../../domain/audit.ts';
import { isUuidV7, rowKeyOf, rowKeyTime } from '../../kernel/ids.ts';
import { isObject } from '../../kernel/validation.ts';
import type { AuditRecord } from '../../store/port/audit.ts';
import { lengthText } from '../parts/text.ts';

/** `as administrator, for 1 hour`; null for an entry that says none of it. */
export function visitText({
  at,
  action,
  target,
  changes,
}: Pick<AuditRecord, 'at' | 'action' | 'target' | 'changes'>): string | null {
  const { link, token, session } = changes;
  switch (action) {
    case 'customer.create-link':
      return joined([as(link), lasting(link, 'sessionSeconds')]);
    case 'customer.create-token':
      return joined([as(token), lasting(token, 'expiresInSeconds')]);
    case 'customer.open-link':
      return joined([as(session), from(session)]);
    case 'user.sign-in':
      return joined([by(session), from(session)]);
    case 'user.sign-out':
      return ended(session, target, at);
    default:
      return null;
  }
}

function member(change: Change | undefined, side: 'from' | 'to', name: string): unknown {
  const value = change?.[side];
  return isObject(value) ? value[name] : undefined;
}

function textOf(change: Change | undefined, name: string): string | null {
  const text = member(change, 'to', name);
  return typeof text === 'string' && text !== '' ? text : null;
}

function as(change: Change | undefined): string | null {
  const role = textOf(change, 'role');
  return role === null ? null : `as ${role}`;
}

function by(change: Change | undefined): string | null {
  const method = textOf(change, 'method');
  return method === null ? null : `with a ${method}`;
}

function from(change: Change | undefined): string | null {
  const address = textOf(change, 'address');
  return address === null ? null : `from ${address}`;
}

function lasting(change: Change | undefined, name: string): string | null {
  const seconds = member(change, 'to', name);
  return typeof seconds === 'number' ? `for ${lengthText(seconds * 1000)}` : null;
}

/** The id of a session has the instant of its beginning. That of a portal link's session has the instant at which the link was made. */
function ended(change: Change | undefined, target: string, at: number): string | null {
  if (target.startsWith('customer:')) return null;
  const id = member(change, 'from', 'id');
  return typeof id === 'string' && isUuidV7(id)
    ? `after ${lengthText(Math.max(at - rowKeyTime(rowKeyOf(id)), 1000))}`
    : null;
}

function joined(parts: readonly (string | null)[]): string | null {
  const said = parts.filter((part) => part !== null);
  return said.length === 0 ? null : said.join(', ');
}
