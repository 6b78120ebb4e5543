/** The pages of applications: the programs that get tokens, with their credentials and tokens. */
import type { Application } from '../../access/application.ts';
import { applicationReader } from '../../access/applications.ts';
import { TOKEN_VALIDITY_DEFAULT_SECONDS } from '../../kernel/limits/limits.ts';
import { CHOICES_MAX } from '../../kernel/limits/portal.ts';
import { attempted, pathId } from '../call.ts';
import type { PageDependencies, PageRoute } from '../page.ts';
import { confirmPage } from '../parts/form.ts';
import { recordForm } from '../record-form.ts';
import { recordPages, removalPages } from '../record-pages.ts';
import { applicationFields, applicationLayout, refusedApplicationForm, registerApplication } from './form.ts';
import { registeredView, secretPages } from './secret.ts';
import { applicationListPage, applicationView } from './views.ts';

const LIST = { href: '/applications', label: 'Applications' };

export function applicationPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, results, services, store, publicUrl } = dependencies;
  const { applications } = services;
  const entity = {
    list: LIST,
    noun: 'application',
    nameOf: ({ name }: Application) => name,
    administration: applications,
  };
  /** Text that is not a user name is passed on, so that it is refused together with all other problems. */
  const userIdOf = async (userName: string): Promise<string> => (await store.users.getByName(userName))?.id ?? userName;

  const switching = (verb: 'activate' | 'deactivate', done: string): PageRoute =>
    pages.page({
      method: 'POST',
      path: `/applications/{id}/${verb}`,
      role: 'administrator',
      respond: async (call) => {
        const { id } = await applications.get(pathId(call));
        const active = verb === 'activate';
        return attempted(`/applications/${id}`, done, () => applications.patch(id, { active }, call.acting));
      },
    });

  return [
    applicationListPage(dependencies),
    ...recordPages(pages, {
      ...entity,
      reader: applicationReader,
      choices: async () => {
        const [active, products] = await Promise.all([
          store.registry.users({ state: 'active' }, null, CHOICES_MAX),
          store.products.all(),
        ]);
        return { users: active.map(({ user }) => user), products };
      },
      fields: applicationFields,
      layout: applicationLayout,
      refused: refusedApplicationForm,
      shown: async (application) => ({
        ...application,
        userId: (await services.users.get(application.userId)).userName,
      }),
      adjust: async ({ actsAs, accountName, ...body }, before, { user }) => {
        // The id of the new account takes the place of this one once the account exists.
        if (actsAs === 'new') return { ...body, userId: user.id };
        const isChosen = before !== null || actsAs === 'existing';
        return { ...body, userId: isChosen ? await userIdOf(String(body.userId)) : '' };
      },
      creation: {
        title: 'Register an application',
        lead: 'It gets a client id and a secret, shown with code that asks for a token.',
        submit: 'Register the application',
        start: () => ({ accessTokenValiditySeconds: TOKEN_VALIDITY_DEFAULT_SECONDS }),
        respond: (call, input) =>
          results.once(call, async () => {
            const made = await registerApplication(dependencies, call, input);
            return () => registeredView(made, publicUrl());
          }),
      },
      change: { lead: 'Removing a scope takes effect immediately, also for tokens that already have it.' },
    }),
    ...secretPages(dependencies),
    pages.view('/applications/{id}', async (call) => {
      const application = await applications.get(pathId(call));
      const [user, products] = await Promise.all([store.users.get(application.userId), store.products.all()]);
      return applicationView(call, application, user, products);
    }),
    switching('activate', 'It can get tokens again. Earlier tokens stay revoked.'),
    switching('deactivate', 'It gets no token any more, and those it has are refused.'),
    ...pages.form(
      '/applications/{id}/revoke-tokens',
      recordForm({
        administration: applications,
        view: ({ csrf }, { id, name }, form) => {
          const path = `/applications/${id}`;
          return confirmPage({
            title: `Revoke all tokens of ${name}?`,
            crumbs: [LIST, { href: path, label: name }],
            text: 'Every token issued to it so far is refused from the next call on. Its credentials stay valid: it can get new tokens at once.',
            ...{ form, csrf, action: `${path}/revoke-tokens`, submit: 'Revoke all tokens', cancel: path },
          });
        },
        respond: async ({ acting }, { id }) => {
          const done = 'Every token issued so far is refused.';
          return attempted(`/applications/${id}`, done, () => applications.revokeTokens(id, acting));
        },
      }),
    ),
    ...removalPages(pages, entity, {
      text: () =>
        'Its credentials and tokens are refused from then on. This cannot be undone. The audit log keeps what was done with it. To keep it for later, deactivate it instead.',
    }),
  ];
}
