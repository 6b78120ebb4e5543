/** `/users/suggestions`: active users whose name contains the typed text, for the fields that name a user. */
import type { User } from '../../access/user.ts';
import { html } from '../../http/html.ts';
import { USERS_SUGGESTED } from '../../kernel/limits/portal.ts';
import type { Store } from '../../store/store.ts';
import type { PageDependencies, PageRoute } from '../page.ts';
import { type Suggestion, suggestionOptions } from '../parts/fields.ts';
import { pageHeader } from '../parts/header.ts';
import { readText } from '../query.ts';

/** The newest active users, at most `USERS_SUGGESTED`. */
export async function suggestedUsers(store: Store, text: string | null): Promise<readonly User[]> {
  const filter = { state: 'active' as const, ...(text !== null && { text }) };
  return (await store.registry.users(filter, null, USERS_SUGGESTED)).map(({ user }) => user);
}

export function userSuggestions(users: readonly User[]): Suggestion[] {
  return users.map(({ userName, displayName, role }) => ({
    value: userName,
    label: displayName === null ? role : `${displayName}, ${role}`,
  }));
}

export function userSuggestionPage({ pages, store }: PageDependencies): PageRoute {
  return pages.page({
    method: 'GET',
    path: '/users/suggestions',
    role: 'administrator',
    respond: async ({ query }) => {
      const users = await suggestedUsers(store, readText(query, 'userId'));
      const title = 'Users found';
      const names = users.map(({ id, userName }) => html`<li><a href="/users/${id}">${userName}</a></li>`);
      return {
        title,
        content: html`${pageHeader({ title })}<ul>${names}</ul>`,
        partial: suggestionOptions(userSuggestions(users)),
      };
    },
  });
}
