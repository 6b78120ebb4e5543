/** The fields of an application, and its registration with an existing user or a new service account. */
import type { Application } from '../../access/application.ts';
import type { ApplicationInput, WithSecret } from '../../access/applications.ts';
import type { ApiProduct } from '../../access/catalogue.ts';
import type { User } from '../../access/user.ts';
import { userReader } from '../../access/users.ts';
import { type Html, html } from '../../http/html.ts';
import { TOKEN_VALIDITY_MAX_SECONDS, TOKEN_VALIDITY_MIN_SECONDS } from '../../kernel/limits/limits.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { PageCall } from '../call.ts';
import { type FieldTable, number, oneOf, text } from '../field-table.ts';
import type { PageDependencies } from '../page.ts';
import { scopeChoices } from '../parts/catalogue-choices.ts';
import { type FormState, refusedForm } from '../parts/fields.ts';
import { fieldGroup } from '../parts/form.ts';
import type { FormLayout } from '../record-pages.ts';

export type ApplicationChoices = { readonly users: readonly User[]; readonly products: readonly ApiProduct[] };

/** `userId` holds the name of the user, which people know. */
export function applicationFields(before: Application | null, { users, products }: ApplicationChoices): FieldTable {
  return {
    name: text({
      label: 'Name',
      isRequired: true,
      hint: 'What your colleagues will look for, such as the customer and the program.',
    }),
    userId: text({
      label: before === null ? 'User' : 'Acts as',
      title: 'User',
      isRequired: true,
      isCode: true,
      autocomplete: 'off',
      hint: 'The name of a user. The program can do what that user may, within its scopes.',
      suggestions: users.map(({ userName, displayName }) => ({ value: userName, label: displayName ?? '' })),
    }),
    accessTokenValiditySeconds: number({
      label: 'Tokens are good for (seconds)',
      title: 'Tokens are good for',
      isRequired: true,
      min: TOKEN_VALIDITY_MIN_SECONDS,
      max: TOKEN_VALIDITY_MAX_SECONDS,
      hint: `${TOKEN_VALIDITY_MIN_SECONDS} to ${TOKEN_VALIDITY_MAX_SECONDS}. Short ones are requested more often. Revoking takes effect immediately in any case.`,
    }),
    scopes: {
      title: 'Scopes',
      draw: (state, name) => html`${scopeChoices(state, name, products)}`,
      read: (sent, name) => sent.getAll(name),
      fill: (value, name) => ({ [name]: value as readonly string[] }),
    },
    ...(before === null && account()),
  };
}

/** Whom a new application acts as. Nothing is preselected: a person must decide whose rights a program has. */
function account(): FieldTable {
  return {
    actsAs: oneOf({
      label: 'Account',
      choices: [
        {
          value: 'new',
          label: 'A new service account',
          hint: 'Made for this application alone, with just the permissions that its scopes need. Nobody can sign in with it.',
        },
        {
          value: 'existing',
          label: 'An existing user',
          hint: 'With the permissions and the divisions that the user has.',
        },
      ],
    }),
    accountName: text({
      label: 'Service account',
      isRequired: true,
      isCode: true,
      autocomplete: 'off',
      madeFrom: 'name',
      hint: 'Its name. The audit log shows it wherever the application acts.',
    }),
  };
}

/** The style sheet shows the field of the chosen account only. */
export function applicationLayout({ before, field, group }: FormLayout<Application, ApplicationChoices>): Html {
  const isNew = before === null;
  const actsAs = isNew
    ? fieldGroup('Acts as', 'The program can do what this account may, within its scopes.', [
        field('actsAs'),
        html`<div class="with-new">${field('accountName')}</div>`,
        html`<div class="with-existing">${field('userId')}</div>`,
      ])
    : null;
  return html`${group('Who it is', null, 'name', ...(isNew ? [] : ['userId']), 'accessTokenValiditySeconds')}${actsAs}${group(
    'Scopes',
    'What its tokens may allow. Choose only what the program needs.',
    'scopes',
  )}`;
}

/** Words the problems of a user id for the name that was typed. */
export function refusedApplicationForm(typed: URLSearchParams, refusal: Refusal): FormState {
  const isUnchosen = typed.has('accountName') && !typed.has('actsAs') && typed.get('userId') === '';
  const details = refusal.details?.map(({ field, problem }) => {
    if (field !== 'userId') return { field, problem };
    return isUnchosen
      ? { field: 'actsAs', problem: 'must be chosen: an existing user, or a new service account' }
      : { field, problem: problem.replace('the id of', 'the name of') };
  });
  return refusedForm(typed, new Refusal(refusal.code, refusal.message, details === undefined ? {} : { details }));
}

type Dependencies = Pick<PageDependencies, 'services' | 'store'>;

/** Registers the application. A new service account is deleted again if the application is refused. */
export async function registerApplication(
  { services: { applications, users }, store }: Dependencies,
  { form, acting }: PageCall,
  input: ApplicationInput,
): Promise<WithSecret> {
  if (form.get('actsAs') !== 'new') return applications.create(input, acting);
  const rules = (await store.products.all()).flatMap((product) => product.rules);
  const needed = rules.filter(({ scope }) => input.scopes.includes(scope));
  const permissions = [...new Set(needed.map(({ scope, permission = scope }) => permission))];
  const account = { userName: form.get('accountName')?.trim() ?? '', displayName: input.name, permissions };
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

/** Moves the problems of the account's name to the field that it was typed in. */
async function namingAccount<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const taken = 'is the name of a user already: choose that user, or type another name';
    const all = error.details ?? [{ field: 'userName', problem: error.message }];
    const details = all.map(({ field, problem }) =>
      field === 'userName'
        ? { field: 'accountName', problem: error.code === 'conflict' ? taken : problem }
        : { field, problem },
    );
    throw new Refusal(error.code, error.message, { details });
  }
}
