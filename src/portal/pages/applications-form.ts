/** The fields of an application, what they send, and what an application has now. */
import { type Html, html } from '../../http/html.ts';
import {
  TOKEN_VALIDITY_DEFAULT_SECONDS,
  TOKEN_VALIDITY_MAX_SECONDS,
  TOKEN_VALIDITY_MIN_SECONDS,
} from '../../limits.ts';
import type { Application } from '../../store/applications.ts';
import type { ApiProduct } from '../../store/products.ts';
import type { User } from '../../store/users.ts';
import { numberField, selectField, textField } from '../parts/fields.ts';
import { fieldGroup } from '../parts/form.ts';
import { type FormState, newForm } from '../parts/form-state.ts';
import { numberOf } from './endpoints-input.ts';
import { scopeChoices } from './scope-choices.ts';

export const APPLICATION_LABELS: Readonly<Record<string, string>> = {
  name: 'Name',
  userId: 'Acts as',
  accessTokenValiditySeconds: 'Tokens are good for',
  scopes: 'Scopes',
};

/** In the list of users: an account of its own is made for the application, with the permissions that its scopes need. */
export const NEW_ACCOUNT = 'new';

export function newApplicationForm(): FormState {
  return newForm({ userId: NEW_ACCOUNT, accessTokenValiditySeconds: TOKEN_VALIDITY_DEFAULT_SECONDS });
}

export function applicationForm(application: Application): FormState {
  const { name, userId, accessTokenValiditySeconds, scopes } = application;
  return newForm({ name, userId, accessTokenValiditySeconds, scopes });
}

/** The body that the use cases take: a creation, or a merge patch of all that the form has. */
export function applicationBody(form: URLSearchParams, userId: string): Readonly<Record<string, unknown>> {
  const seconds = numberOf(form, 'accessTokenValiditySeconds');
  return {
    name: form.get('name') ?? '',
    userId,
    scopes: form.getAll('scopes'),
    ...(seconds !== undefined && { accessTokenValiditySeconds: seconds }),
  };
}

export function applicationFields(
  form: FormState,
  {
    users,
    products,
    isNew,
  }: { readonly users: readonly User[]; readonly products: readonly ApiProduct[]; readonly isNew: boolean },
): Html {
  const accounts = users.map(({ id, userName, displayName }) => ({
    value: id,
    label: displayName === null ? userName : `${userName} (${displayName})`,
  }));
  const own = { value: NEW_ACCOUNT, label: 'A new account of its own, with just the permissions it needs' };
  const who = fieldGroup('Who it is', null, [
    textField(form, {
      name: 'name',
      label: 'Name',
      isRequired: true,
      hint: 'What your colleagues will look for, such as the customer and the program.',
    }),
    selectField(form, {
      name: 'userId',
      label: 'Acts as',
      isRequired: true,
      hint: 'The program can do what this user may, and no more than its scopes say.',
      choices: isNew ? [own, ...accounts] : accounts,
    }),
    numberField(form, {
      name: 'accessTokenValiditySeconds',
      label: 'Tokens are good for (seconds)',
      isRequired: true,
      min: TOKEN_VALIDITY_MIN_SECONDS,
      max: TOKEN_VALIDITY_MAX_SECONDS,
      hint: `${TOKEN_VALIDITY_MIN_SECONDS} to ${TOKEN_VALIDITY_MAX_SECONDS}. Short ones are asked for more often; revoking works at once either way.`,
    }),
  ]);
  const scopes = fieldGroup(
    'Scopes',
    'What it may ask for in its tokens. Pick what the program needs and nothing else.',
    scopeChoices(form, 'scopes', products),
  );
  return html`${who}${scopes}`;
}
