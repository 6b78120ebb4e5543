/** The fields of an application, and its registration with an existing user or a new service account. */

import type { ApplicationInput, WithSecret } from '../../access/applications.ts';
import { type Users, userReader } from '../../access/users.ts';
import {
  type Application,
  TOKEN_VALIDITY_DEFAULT_SECONDS,
  TOKEN_VALIDITY_MAX_SECONDS,
  TOKEN_VALIDITY_MIN_SECONDS,
} from '../../domain/application.ts';
import type { ApiProduct } from '../../domain/catalogue.ts';
import type { User } from '../../domain/user.ts';
import { type Html, html } from '../../http/html.ts';
import { Refusal, refuseField } from '../../kernel/refusal.ts';
import { caught, type PageCall } from '../frame/call.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { API_REFERENCE_PATH, type ApiCall } from '../parts/api-calls.ts';
import { scopeChoices } from '../parts/catalogue-choices.ts';
import { type FormState, refusedForm } from '../parts/fields.ts';
import { fieldGroup, moreFields } from '../parts/form.ts';
import { withQuery } from '../parts/list.ts';
import { countOf } from '../parts/text.ts';
import { ACCOUNT_NAMES, ACCOUNT_TITLE } from '../record/account-of-applications.ts';
import { type Body, type FieldTable, type FormField, number, oneOf, text } from '../record/field-table.ts';
import type { FormLayout } from '../record/record-pages.ts';
import { userSuggestions } from '../users/user-suggestions.ts';
import { lackingOf } from './application-scopes.ts';

type ApplicationChoices = {
  readonly users: readonly User[];
  readonly products: readonly ApiProduct[];
  /** Where the users are suggested; null in a customer's portal, where applications act as one service account. */
  readonly suggestFrom: string | null;
  /** The calls that the scopes open, in a customer's portal. */
  readonly calls: readonly ApiCall[];
};

/** `userId` holds the name of the user, which people know. */
export function applicationFields(
  before: Application | null,
  { users, products, suggestFrom, calls }: ApplicationChoices,
): FieldTable {
  const account = accountOf(before, users, suggestFrom === null);
  const [lacks, opened] = [lackNote(account), openedNote(calls)];
  const userId = suggestFrom === null ? {} : { userId: userField(before, users, suggestFrom) };
  return {
    name: text({
      label: 'Name',
      isRequired: true,
      hint: 'For example what it does: Stock sync.',
    }),
    ...userId,
    [LIFETIME]: number({
      label: 'Token lifetime (seconds)',
      title: 'Token lifetime',
      isRequired: true,
      min: TOKEN_VALIDITY_MIN_SECONDS,
      max: TOKEN_VALIDITY_MAX_SECONDS,
      hint:
        `${TOKEN_VALIDITY_MIN_SECONDS} to ${TOKEN_VALIDITY_MAX_SECONDS}. Revoking a token takes effect ` +
        'immediately, whatever its lifetime.',
    }),
    scopes: {
      title: 'Scopes',
      draw: (state, name) =>
        html`${scopeChoices(state, name, products, (product, scope) => html`${opened(scope)}${lacks(product, scope)}`)}`,
      read: (sent, name) => sent.getAll(name),
      fill: (value, name) => ({ [name]: value as readonly string[] }),
    },
    ...(before === null && suggestFrom !== null && newAccount()),
  };
}

/** The account of a change. Null if saving gives it the permissions that the scopes need. */
function accountOf(before: Application | null, users: readonly User[], isOfCustomer: boolean): User | null {
  const account = users.find(({ id }) => id === before?.userId) ?? null;
  return account !== null && isOfCustomer && ACCOUNT_NAMES.includes(account.userName) ? null : account;
}

/** Leads to the calls that a scope opens. */
function openedNote(calls: readonly ApiCall[]): (scope: string) => Html | null {
  return (scope) => {
    const count = calls.filter((call) => call.scope === scope).length;
    const href = withQuery(API_REFERENCE_PATH, new URLSearchParams(), { q: scope });
    return count === 0
      ? null
      : html`
        <span class="cell-hint">
          <a href="${href}">Opens ${countOf(count, 'call')}<span class="visually-hidden"> of ${scope}</span></a>
        </span>
      `;
  };
}

/** The usual programs of customers. A link ticks the boxes by its address, and the script without loading the page. */
const PRESETS: Readonly<Record<string, { readonly label: string; readonly scopes: readonly string[] }>> = {
  deliveries: { label: 'Read deliveries', scopes: ['endpoints:view', 'webhooks:view', 'deliveries:view'] },
  webhooks: {
    label: 'Manage webhooks',
    scopes: ['endpoints:view', 'endpoints:manage', 'webhooks:view', 'webhooks:manage', 'deliveries:view'],
  },
  events: { label: 'Publish events', scopes: ['webhooks:view', 'events:publish'] },
};

export function presetScopes(query: URLSearchParams): readonly string[] {
  return PRESETS[query.get('preset') ?? '']?.scopes ?? [];
}

const PRESET_LINKS = html`
  <div class="buttons">
    ${Object.entries(PRESETS).map(
      ([preset, { label, scopes }]) =>
        html`<a class="button button-plain" href="/applications/new?preset=${preset}" data-ticks="${scopes.join(' ')}">${label}</a>`,
    )}
  </div>
`;

/** Marks the scopes that have no effect, because the account that the application acts as lacks the permission. */
function lackNote(account: User | null): (product: ApiProduct, scope: string) => Html | null {
  if (account === null) return () => null;
  const may = new Set(account.permissions);
  return (product, scope) => {
    const lacks = lackingOf(product, scope, may);
    if (lacks.length === 0) return null;
    // Most permissions have the name of their scope.
    const names = lacks.length === 1 && lacks[0] === scope ? '' : ` ${lacks.join(', ')}`;
    return html`<span class="choice-lack">${account.userName} lacks the permission${names}</span>`;
  };
}

function userField(before: Application | null, users: readonly User[], suggestFrom: string): FormField {
  return text({
    label: before === null ? 'User' : 'Acts as',
    title: 'User',
    isRequired: true,
    isCode: true,
    autocomplete: 'off',
    placeholder: 'Search by name',
    hint: 'The program can do what this account may do, within its scopes.',
    suggestions: userSuggestions(users),
    suggestFrom,
  });
}

/** The account of a new application. */
function newAccount(): FieldTable {
  return {
    actsAs: oneOf({
      label: 'Account',
      choices: [
        {
          value: 'new',
          label: 'A new service account',
          hint: 'Recommended. Created for this application, with only the permissions that its scopes need. Nobody can sign in with it.',
        },
        {
          value: 'existing',
          label: 'An existing user',
          hint: 'With the permissions and divisions of that user.',
        },
      ],
    }),
    accountName: text({
      label: 'Service account',
      isRequired: true,
      isCode: true,
      autocomplete: 'off',
      madeFrom: 'name',
      hint: 'Its name, as the audit log shows it.',
    }),
  };
}

/** The style sheet shows the field of the chosen account only. */
export function applicationLayout({
  before,
  choices,
  field,
  group,
  state,
}: FormLayout<Application, ApplicationChoices>): Html {
  const isNew = before === null;
  const isOfCustomer = choices.suggestFrom === null;
  const actsAs =
    isNew && !isOfCustomer
      ? fieldGroup('Acts as', 'The program can do what this account may do, within its scopes.', [
          field('actsAs'),
          html`<div class="with-new">${field('accountName')}</div>`,
          html`<div class="with-existing">${field('userId')}</div>`,
        ])
      : null;
  return html`
    ${group('Application', null, 'name', ...(isNew ? [] : ['userId']))}
    ${actsAs}
    ${fieldGroup('Scopes', scopesLead(before, choices), [isNew && isOfCustomer ? PRESET_LINKS : null, field('scopes')])}
    ${moreFields('Advanced', state, [LIFETIME], [field(LIFETIME)], hasOtherLifetime(state))}
  `;
}

function scopesLead(before: Application | null, { users, suggestFrom }: ApplicationChoices): string {
  if (before === null) return suggestFrom === null ? `${SCOPES_LEAD}${DEFAULT_ACCOUNT}` : SCOPES_LEAD;
  const account = accountOf(before, users, suggestFrom === null);
  return account === null
    ? SCOPES_LEAD
    : `${SCOPES_LEAD} It acts as ${account.userName}: a scope has an effect once this account has the permission, too.`;
}

const SCOPES_LEAD = 'What the program may do. Choose only what it needs.';
const DEFAULT_ACCOUNT =
  ' The application acts as the “Default account” in Users, which is created if it does not exist yet. Saving gives this account the' +
  ' permissions of the scopes. Each application can use only its own scopes.';
const LIFETIME = 'accessTokenValiditySeconds';

function hasOtherLifetime(state: FormState): (name: string) => boolean {
  return (name) => state.value(name) !== String(TOKEN_VALIDITY_DEFAULT_SECONDS);
}

/** The API refuses a user id; the form has a user name. */
export function refusedApplicationForm(typed: URLSearchParams, refusal: Refusal): FormState {
  return refusedForm(typed, refusal, ({ field, problem }) => ({
    field,
    problem: field === 'userId' ? problem.replace('the id of', 'the name of') : problem,
  }));
}

/** Refuses a form without scopes: its tokens would allow nothing. An application that already has none may stay so. */
export function requireScopes(body: Body, before: Application | null): void {
  const isEmpty = Array.isArray(body.scopes) && body.scopes.length === 0;
  if (isEmpty && before?.scopes.length !== 0)
    throw refuseField('scopes', 'must be chosen: without a scope the program can do nothing');
}

/** The placeholder for the account of a new application, until it exists. */
export const ACCOUNT_TO_COME = '00000000-0000-7000-8000-000000000000';

type Dependencies = Pick<SharedPageDependencies, 'services' | 'store'>;

/**
 * Registers the application. A new service account is deleted again if the application is refused. In a customer's portal the application
 * acts as the customer's service account, which the first application makes.
 */
export async function registerApplication(
  { services: { applications, users }, store }: Dependencies,
  { form, acting }: PageCall,
  input: ApplicationInput,
): Promise<WithSecret> {
  const isOfCustomer = store.customerId !== null;
  if (!isOfCustomer && form.get('actsAs') !== 'new') return applications.create(input, acting);
  const permissions = neededPermissions(await store.products.all(), input.scopes);
  if (isOfCustomer) {
    const userId = await serviceAccount(users, store, permissions, acting);
    return applications.create({ ...input, userId }, acting);
  }
  const { customerId } = input;
  const account = { customerId, userName: form.get('accountName')?.trim() ?? '', displayName: input.name, permissions };
  const { id } = await namingAccount(async () =>
    users.create(userReader.create({ ...account, role: 'service' }), acting),
  );
  try {
    return await applications.create({ ...input, userId: id }, acting);
  } catch (error) {
    await users.remove(id, acting);
    throw error;
  }
}

/** Gives the customer's service account what a changed application needs, if the application acts as it. */
export async function widenServiceAccount(
  { services: { users }, store }: Dependencies,
  { acting }: PageCall,
  { userId }: Application,
  scopes: readonly string[],
): Promise<void> {
  if (store.customerId === null) return;
  const { userName } = await users.get(userId);
  if (!ACCOUNT_NAMES.includes(userName)) return;
  await serviceAccount(users, store, neededPermissions(await store.products.all(), scopes), acting);
}

function neededPermissions(products: readonly ApiProduct[], scopes: readonly string[]): string[] {
  const rules = products.flatMap((product) => product.rules).filter(({ scope }) => scopes.includes(scope));
  return [...new Set(rules.map(({ scope, permission = scope }) => permission))];
}

/**
 * The service account of the customer's applications, with these permissions in addition to its own. Wider permissions of the account
 * give no other application more: each stays within its own scopes.
 */
async function serviceAccount(
  users: Users,
  store: Dependencies['store'],
  permissions: readonly string[],
  acting: PageCall['acting'],
): Promise<string> {
  for (const userName of ACCOUNT_NAMES) {
    const known = await store.users.getByName(store.customerId, userName);
    if (known === null) {
      const account = { userName, displayName: ACCOUNT_TITLE, role: 'service', permissions: [...permissions] };
      return (await users.create(userReader.create(account), acting)).id;
    }
    if (known.role !== 'service' || !known.active) continue;
    const all = [...new Set([...known.permissions, ...permissions])];
    if (all.length > known.permissions.length) await users.patch(known.id, { permissions: all }, acting);
    return known.id;
  }
  throw new Refusal('conflict', 'the names for the account of applications are taken by other users');
}

/** Moves the problems of the account's name to the field that it was typed in. */
async function namingAccount<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const refusal = caught(error);
    const taken = 'is already the name of a user: choose that user, or enter another name';
    const all = refusal.details ?? [{ field: 'userName', problem: refusal.message }];
    const details = all.map(({ field, problem }) =>
      field === 'userName'
        ? { field: 'accountName', problem: refusal.code === 'conflict' ? taken : problem }
        : { field, problem },
    );
    throw new Refusal(refusal.code, refusal.message, { details });
  }
}
