/** The pages of users: the accounts that people sign in with and that applications act as. */
import { invitationUrl } from '../../access/invitations.ts';
import { html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { PageCall, View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { attempted, refusedTo } from '../parts/attempted.ts';
import { linkButton } from '../parts/button.ts';
import { secretBox } from '../parts/code.ts';
import { confirmPage } from '../parts/confirm.ts';
import { pageHeader, section } from '../parts/header.ts';
import { notice } from '../parts/notice.ts';
import { relativeTime } from '../parts/time.ts';
import { recordForm } from '../record-form.ts';
import { userView } from './detail.ts';
import { userListPage } from './list.ts';
import { userFormPages } from './new.ts';

const LIST = { href: '/users', label: 'Users' };

export function userPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, results, services, store, publicUrl } = dependencies;
  const { users, invitations, sessions } = services;

  const switching = (verb: 'activate' | 'deactivate', done: string): PageRoute =>
    pages.page({
      method: 'POST',
      path: `/users/{id}/${verb}`,
      role: 'administrator',
      respond: async (call) => {
        const { id } = await users.get(call.params.id ?? '');
        if (id === call.user.id) return refused(id, 'Nobody can deactivate their own account.');
        return attempted(`/users/${id}`, done, () => users.patch(id, { active: verb === 'activate' }, call.acting));
      },
    });

  return [
    userListPage(dependencies),
    ...userFormPages(dependencies),
    pages.view('/users/{id}', async (call) => {
      const user = await users.get(call.params.id ?? '');
      const [applications, open] = await Promise.all([store.applications.ofUser(user.id), sessions.ofUser(user.id)]);
      return userView(call, user, applications, open.length);
    }),
    switching('activate', 'The account is active. What its applications had stays refused; they can get new tokens.'),
    switching('deactivate', 'The account is signed out, and its applications are refused from the next call on.'),
    pages.page({
      method: 'POST',
      path: '/users/{id}/invite',
      role: 'administrator',
      respond: async (call) => {
        const { id, userName } = await users.get(call.params.id ?? '');
        const url = publicUrl();
        if (url === null) return refused(id, 'SALLYPORT_PUBLIC_URL is not set, and the link needs it.');
        try {
          return await results.once(call, async () => {
            const { token, expiresAt } = await invitations.invite(id, call.acting);
            const link = invitationUrl(url, token);
            return (shownTo) => invitedView(shownTo, { id, userName, link, expiresAt });
          });
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          return refusedTo(`/users/${id}`, error.message);
        }
      },
    }),
    pages.page({
      method: 'POST',
      path: '/users/{id}/sign-out',
      role: 'administrator',
      respond: async ({ params, acting }) => {
        const { id, userName } = await users.get(params.id ?? '');
        const done = `${userName} is signed out everywhere.`;
        return attempted(`/users/${id}`, done, () => sessions.endAll(id, acting));
      },
    }),
    ...pages.form(
      '/users/{id}/delete',
      recordForm({
        administration: users,
        view: ({ csrf }, { id, userName }, form) => {
          const path = `/users/${id}`;
          return confirmPage({
            title: `Delete the user ${userName}?`,
            crumbs: [LIST, { href: path, label: userName }],
            text: 'The account is gone, with its password and its sessions, and there is no way back. The audit log keeps what it did. An account that applications act as is not deleted: deactivate it instead.',
            ...{ form, csrf, action: `${path}/delete`, submit: 'Delete the user', cancel: path },
          });
        },
        respond: async (call, { id, userName }) => {
          if (id === call.user.id) return refused(id, 'Nobody can delete their own account.');
          return attempted('/users', `${userName} is deleted.`, () => users.remove(id, call.acting), `/users/${id}`);
        },
      }),
    ),
  ];
}

function refused(id: string, text: string) {
  return { redirect: `/users/${id}`, flash: { tone: 'negative', text } } as const;
}

type Invited = { readonly id: string; readonly userName: string; readonly link: string; readonly expiresAt: number };

function invitedView({ now }: PageCall, { id, userName, link, expiresAt }: Invited): View {
  const title = `Invitation for ${userName}`;
  const content = html`${pageHeader({
    title,
    crumbs: [LIST, { href: `/users/${id}`, label: userName }],
    actions: [linkButton({ href: `/users/${id}`, label: `Back to ${userName}`, kind: 'primary' })],
  })}${section({
    title: 'The link',
    content: html`${secretBox({
      label: 'Invitation',
      value: link,
      note: 'Whoever opens it can set the password of this account. Send it to its owner by a way that nobody else reads.',
    })}${notice({ tone: 'info', text: html`It is good once, and expires ${relativeTime(expiresAt, now)}. An earlier one for this account is good no more.` })}`,
  })}`;
  return { title, content };
}
