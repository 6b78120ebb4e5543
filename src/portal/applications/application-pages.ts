/** The pages of applications: the programs that get tokens, with their credentials and tokens. */

import { applicationReader } from '../../access/applications.ts';
import { type Application, TOKEN_VALIDITY_DEFAULT_SECONDS } from '../../domain/application.ts';
import { html } from '../../http/html.ts';
import { checkAll, refuseField } from '../../kernel/refusal.ts';
import { readHistorySection } from '../audit/record-changes.ts';
import { addressFor } from '../frame/browser.ts';
import { attempted, type PageCall, pathId } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { apiCallsOf } from '../parts/api-calls.ts';
import { confirmPage } from '../parts/form.ts';
import { TOKENS_COUNTED } from '../parts/limits.ts';
import { withQuery } from '../parts/list.ts';
import { relativeTime } from '../parts/text.ts';
import type { Body } from '../record/field-table.ts';
import {
  inCustomersWords,
  OPERATOR,
  ownedCrumbs,
  ownedName,
  productsForCustomers,
  readOwner,
  withOwner,
} from '../record/owner.ts';
import { recordForm } from '../record/record-form.ts';
import { recordPages, removalPages } from '../record/record-pages.ts';
import { suggestedUsers } from '../users/user-suggestions.ts';
import {
  ACCOUNT_TO_COME,
  applicationFields,
  applicationLayout,
  presetScopes,
  refusedApplicationForm,
  registerApplication,
  requireScopes,
  widenServiceAccount,
} from './application-form.ts';
import { applicationListPage, applicationView } from './application-views.ts';
import { registeredResult, secretPages } from './secret-pages.ts';

const LIST = { href: '/applications', label: 'Applications' };

export function applicationPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages } = dependencies;
  return [
    applicationListPage(dependencies),
    ...applicationForms(dependencies),
    ...secretPages(dependencies),
    applicationPage(dependencies),
    ...applicationActions(dependencies),
    ...removalPages(pages, entityOf(dependencies), {
      text: async ({ now }, { lastUsedAt, userId }) => {
        const account = (await dependencies.store.users.get(userId))?.userName;
        return html`
          Its credentials and tokens stop working immediately. This cannot be undone.
          ${lastUsedAt === null ? 'It was never used.' : html`It was last used ${relativeTime(lastUsedAt, now)}.`}${' '}
          ${account === undefined ? null : `The account ${account} stays.`} The audit log keeps its entries. To keep
          the application for later, deactivate it instead.
        `;
      },
    }),
  ];
}

function entityOf({ services, store }: SharedPageDependencies) {
  return {
    for: 'both' as const,
    list: LIST,
    noun: 'application',
    nameOf: ({ name }: Application) => name,
    administration: services.applications,
    owners: store,
  };
}

function applicationForms(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, results, services, store, publicUrl, offered, customersApi } = dependencies;
  return recordPages(pages, {
    ...entityOf(dependencies),
    reader: applicationReader,
    choices: async (owner) => {
      const [users, products] = await Promise.all([suggestedUsers(store, null, owner), store.products.all()]);
      const isOfCustomer = store.customerId !== null;
      return {
        users,
        products: owner === OPERATOR ? products : productsForCustomers(products, isOfCustomer ? offered() : null),
        calls: isOfCustomer ? apiCallsOf(customersApi(publicUrl())) : [],
        suggestFrom: isOfCustomer ? null : withQuery('/users/suggestions', new URLSearchParams(), { customer: owner }),
      };
    },
    fields: applicationFields,
    layout: applicationLayout,
    refused: refusedApplicationForm,
    shown: async (application) => ({
      ...application,
      userId: (await services.users.get(application.userId)).userName,
    }),
    adjust: (body, before, call) => adjusted(dependencies, body, before, call),
    creation: {
      title: 'Register an application',
      lead: 'The next page shows its client id and secret, with code that requests a token.',
      submit: 'Register the application',
      ofOwner: ['userId'],
      start: ({ query }) => ({
        accessTokenValiditySeconds: TOKEN_VALIDITY_DEFAULT_SECONDS,
        actsAs: 'new',
        scopes: store.customerId === null ? [] : presetScopes(query),
      }),
      respond: (call, input) =>
        results.once(call, async () => {
          const made = await registerApplication(dependencies, call, input);
          const [owner, known] = await Promise.all([readOwner(store, made.application), store.products.all()]);
          return registeredResult(call, made, { owner, publicUrl: publicUrl(), products: known });
        }),
    },
    change: { lead: 'Removing a scope takes effect immediately, also for tokens that already have it.' },
  });
}

/** The body as the use case takes it, with the account that the application acts as. Every problem is refused together. */
async function adjusted(
  dependencies: SharedPageDependencies,
  { actsAs, accountName, ...body }: Body,
  before: Application | null,
  call: PageCall,
): Promise<Body> {
  const { store } = dependencies;
  const { form } = call;
  const isOfCustomer = store.customerId !== null;
  const owner = before === null ? form.get('customerId') : before.customerId;
  const isToCome = actsAs === 'new' || (isOfCustomer && before === null);
  const userId = isToCome ? ACCOUNT_TO_COME : await userIdOf(dependencies, owner, String(body.userId));
  const made = isOfCustomer && before !== null ? body : { ...body, userId };
  const validate = () => (before === null ? applicationReader.create(made) : applicationReader.patch(made));
  await checkAll([
    () => void validate(),
    () => {
      if (!isOfCustomer && userId === '') throw refuseField('userId', 'must be the name of a user');
    },
    () => requireScopes(body, before),
  ]);
  if (before !== null && Array.isArray(body.scopes))
    await widenServiceAccount(dependencies, call, before, body.scopes as readonly string[]);
  return made;
}

/** Text that is not a user name is passed on, so that it is refused together with all other problems. */
async function userIdOf(
  { store }: SharedPageDependencies,
  customerId: string | null,
  userName: string,
): Promise<string> {
  return (await store.users.getByName(customerId, userName))?.id ?? userName;
}

function applicationPage(dependencies: SharedPageDependencies): PageRoute<'both'> {
  const { pages, services, store, publicUrl, customersApi } = dependencies;
  return pages.view('/applications/{id}', 'both', async (call) => {
    const application = await services.applications.get(pathId(call));
    const [user, products, tokens, owner, history] = await Promise.all([
      store.users.get(application.userId),
      store.products.all(),
      store.tokens.inForce(application, call.now, TOKENS_COUNTED),
      readOwner(store, application),
      readHistorySection(dependencies, call, {
        target: `application:${application.id}`,
        createdAt: application.createdAt,
        lead: 'Changes and new secrets, newest first.',
        didLabel: 'What it did',
      }),
    ]);
    const named = store.customerId === null ? products : products.map(inCustomersWords);
    const address = addressFor(call.request, publicUrl());
    const calls = store.customerId === null ? [] : apiCallsOf(customersApi(address));
    const around = { user, products: named, calls, tokens, owner, history, address };
    return withOwner(owner, applicationView(call, application, around));
  });
}

function applicationActions({ pages, services, store }: SharedPageDependencies): PageRoute<'both'>[] {
  const { applications } = services;
  const switching = (verb: 'activate' | 'deactivate', done: string): PageRoute<'both'> =>
    pages.act(`/applications/{id}/${verb}`, 'both', 'administrator', async (call) => {
      const { id } = await applications.get(pathId(call));
      const active = verb === 'activate';
      return attempted(`/applications/${id}`, done, () => applications.patch(id, { active }, call.acting));
    });
  return [
    switching('activate', 'The application is active and can request tokens. Earlier tokens stay revoked.'),
    switching('deactivate', 'The application is inactive: it gets no tokens, and its tokens are refused.'),
    ...pages.form(
      '/applications/{id}/revoke-tokens',
      'both',
      recordForm({
        administration: applications,
        view: async ({ csrf }, application, form) => {
          const { id, name } = application;
          const path = `/applications/${id}`;
          const owner = await readOwner(store, application);
          return confirmPage({
            title: `Revoke all tokens of ${ownedName(name, owner)}?`,
            crumbs: ownedCrumbs(LIST, owner, { href: path, label: name }),
            text: 'All its tokens are refused from the next call on. Its credentials stay valid, so it can request new tokens.',
            form,
            csrf,
            action: `${path}/revoke-tokens`,
            submit: 'Revoke all tokens',
            cancel: path,
          });
        },
        respond: async ({ acting }, { id }) => {
          const done = 'All tokens are revoked.';
          return attempted(`/applications/${id}`, done, () => applications.revokeTokens(id, acting));
        },
      }),
    ),
  ];
}
