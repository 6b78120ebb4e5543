/** `/users/suggestions`: active users whose name contains the typed text, for the fields that name a user. */

import type { User } from '../../domain/user.ts';
import { html } from '../../http/html.ts';
import type { Store } from '../../store/port/store.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { type Suggestion, suggestionOptions } from '../parts/fields.ts';
import { pageHeader } from '../parts/header.ts';
import { USERS_SUGGESTED } from '../parts/limits.ts';
import { OPERATOR } from '../record/owner.ts';

/** The newest active users of a customer, or of the operator with '', at most `USERS_SUGGESTED`. */
export async function suggestedUsers(store: Store, text: string | null, owner: string): Promise<readonly User[]> {
  const filter = { state: 'active' as const, customerId: owner, ...(text !== null && { text }) };
  return (await store.registry.users(filter, null, USERS_SUGGESTED)).map(({ user }) => user);
}

export function userSuggestions(users: readonly User[]): Suggestion[] {
  return users.map(({ userName, displayName, role }) => ({
    value: userName,
    label: displayName === null ? role : `${displayName}, ${role}`,
  }));
}

export function userSuggestionPage({ pages, store }: SharedPageDependencies): PageRoute<'both'> {
  return pages.page('/users/suggestions', 'both', 'administrator', async ({ query }) => {
    const owner = store.customerId ?? readText(query, 'customer') ?? OPERATOR;
    const users = await suggestedUsers(store, readText(query, 'userId'), owner);
    const title = 'Users found';
    const names = users.map(({ id, userName }) => html`<li><a href="/users/${id}">${userName}</a></li>`);
    return {
      title,
      content: html`${pageHeader({ title })}<ul>${names}</ul>`,
      partial: suggestionOptions(userSuggestions(users)),
    };
  });
}
