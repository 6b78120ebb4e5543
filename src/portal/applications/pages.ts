/** The pages of applications: the programs that may get tokens, their credentials, and what is taken back from them. */
import type { Application } from '../../access/application.ts';
import type { PageCall, PageResult } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { attempted } from '../parts/attempted.ts';
import { confirmPage } from '../parts/confirm.ts';
import { recordForm } from '../record-form.ts';
import { applicationView } from './detail.ts';
import { applicationListPage } from './list.ts';
import { applicationFormPages } from './new.ts';
import { secretPages } from './secret.ts';

const LIST = { href: '/applications', label: 'Applications' };

export function applicationPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, services, store } = dependencies;
  const { applications } = services;

  const switching = (verb: 'activate' | 'deactivate', done: string): PageRoute =>
    pages.page({
      method: 'POST',
      path: `/applications/{id}/${verb}`,
      role: 'administrator',
      respond: async ({ params, acting }) => {
        const { id } = await applications.get(params.id ?? '');
        const active = verb === 'activate';
        return attempted(`/applications/${id}`, done, () => applications.patch(id, { active }, acting));
      },
    });

  const asking = (
    verb: 'delete' | 'revoke-tokens',
    question: (name: string) => { readonly title: string; readonly text: string; readonly submit: string },
    respond: (call: PageCall, application: Application) => Promise<PageResult>,
  ): PageRoute[] =>
    pages.form(
      `/applications/{id}/${verb}`,
      recordForm({
        administration: applications,
        view: ({ csrf }, { id, name }, form) => {
          const path = `/applications/${id}`;
          const crumbs = [LIST, { href: path, label: name }];
          return confirmPage({ ...question(name), crumbs, form, csrf, action: `${path}/${verb}`, cancel: path });
        },
        respond,
      }),
    );

  return [
    applicationListPage(dependencies),
    ...applicationFormPages(dependencies),
    ...secretPages(dependencies),
    pages.view('/applications/{id}', async (call) => {
      const application = await applications.get(call.params.id ?? '');
      const [user, products] = await Promise.all([store.users.get(application.userId), store.products.all()]);
      return applicationView(call, application, user, products);
    }),
    switching('activate', 'It may get tokens again. Those it had stay refused.'),
    switching('deactivate', 'It gets no token any more, and those it has are refused.'),
    ...asking(
      'revoke-tokens',
      (name) => ({
        title: `Revoke all tokens of ${name}?`,
        text: 'Every token issued to it so far is refused from the next call on. Its credentials stay good: it can get new tokens at once.',
        submit: 'Revoke all tokens',
      }),
      async ({ acting }, { id }) => {
        const done = 'Every token issued so far is refused.';
        return attempted(`/applications/${id}`, done, () => applications.revokeTokens(id, acting));
      },
    ),
    ...asking(
      'delete',
      (name) => ({
        title: `Delete the application ${name}?`,
        text: 'Its credentials and its tokens are refused from then on, and there is no way back. The audit log keeps what was done with it. To keep it for later, deactivate it instead.',
        submit: 'Delete the application',
      }),
      async ({ acting }, { id, name }) => {
        const done = `The application ${name} is deleted.`;
        return attempted('/applications', done, () => applications.remove(id, acting), `/applications/${id}`);
      },
    ),
  ];
}
