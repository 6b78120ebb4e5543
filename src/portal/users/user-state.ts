/** The state of an account, the same on every page that names it. */
import type { User } from '../../domain/user.ts';
import { type Html, html } from '../../http/html.ts';
import { badge, stateBadge } from '../parts/mark.ts';
import { shortTime } from '../parts/text.ts';

type Account = Pick<User, 'active' | 'role' | 'passwordHash'>;

/** Of an account that signs nobody in. */
export function userBadge({ active }: Pick<Account, 'active'>): Html {
  return stateBadge(active ? 'active' : 'inactive');
}

/** Nobody can sign in with the account until an invitation has set its password. */
export function waitsForPassword({ active, role, passwordHash }: Account): boolean {
  return active && role !== 'service' && passwordHash === null;
}

/** The same, with the invitation of an account that waits. `expiresAt`: when the link of its invitation expires; null: there is none. */
export function invitationBadge(user: Account, expiresAt: number | null, now: number): Html {
  if (!waitsForPassword(user)) return userBadge(user);
  if (expiresAt === null) return badge('caution', 'not invited', 'clock');
  const isValid = expiresAt > now;
  return html`
    ${isValid ? badge('info', 'invited', 'clock') : badge('caution', 'invitation expired', 'clock')}
    <span class="cell-hint">${isValid ? 'link valid until' : 'on'} ${shortTime(expiresAt)}</span>
  `;
}
