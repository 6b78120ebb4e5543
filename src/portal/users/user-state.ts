/** The state of an account, the same on every page that names it. */
import type { User } from '../../domain/user.ts';
import type { Html } from '../../http/html.ts';
import { badge, stateBadge } from '../parts/mark.ts';

/** Whether the account is active, or waits for its password. */
export function userBadge({ active, role, passwordHash }: Pick<User, 'active' | 'role' | 'passwordHash'>): Html {
  const waits = active && role !== 'service' && passwordHash === null;
  return waits ? badge('caution', 'no password yet', 'clock') : stateBadge(active ? 'active' : 'inactive');
}
