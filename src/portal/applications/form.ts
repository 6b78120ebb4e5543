/** The fields of an application, what they send, and what an application has now. */

import type { Application } from '../../access/application.ts';
import type { ApiProduct } from '../../access/catalogue.ts';
import type { User } from '../../access/user.ts';
import { type Html, html } from '../../http/html.ts';
import {
  TOKEN_VALIDITY_DEFAULT_SECONDS,
  TOKEN_VALIDITY_MAX_SECONDS,
  TOKEN_VALIDITY_MIN_SECONDS,
} from '../../kernel/limits/limits.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { numberOf } from '../field-table.ts';
import { radioGroup } from '../parts/choices.ts';
import { numberField, textField } from '../parts/fields.ts';
import { fieldGroup } from '../parts/form.ts';
import { type FormState, newForm, refusedForm } from '../parts/form-state.ts';
import { scopeChoices } from '../parts/scope-choices.ts';

export const APPLICATION_LABELS: Readonly<Record<string, string>> = {
  name: 'Name',
  actsAs: 'Account',
  userId: 'User',
  accountName: 'Service account',
  accessTokenValiditySeconds: 'Tokens are good for',
  scopes: 'Scopes',
};

export function newApplicationForm(): FormState {
  return newForm({ accessTokenValiditySeconds: TOKEN_VALIDITY_DEFAULT_SECONDS });
}

/** The field `userId`, as problems call it, holds the name of the user: that is what people know. */
export function applicationForm(application: Application, userName: string): FormState {
  const { name, accessTokenValiditySeconds, scopes } = application;
  return newForm({ name, userId: userName, accessTokenValiditySeconds, scopes });
}

/** A form that was refused: what is wrong with the id of the user is wrong with the name that was typed. */
export function refusedApplicationForm(form: URLSearchParams, refusal: Refusal): FormState {
  const isUnchosen = form.has('name') && !form.has('actsAs') && form.get('userId') === '' && form.has('accountName');
  const details = refusal.details?.map(({ field, problem }) => {
    if (field !== 'userId') return { field, problem };
    return isUnchosen
      ? { field: 'actsAs', problem: 'must be chosen: an existing user, or a new service account' }
      : { field, problem: problem.replace('the id of', 'the name of') };
  });
  return refusedForm(form, new Refusal(refusal.code, refusal.message, details === undefined ? {} : { details }));
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
  const user = textField(form, {
    name: 'userId',
    label: isNew ? 'User' : 'Acts as',
    isRequired: true,
    isCode: true,
    autocomplete: 'off',
    hint: 'The name of a user. The program can do what that user may, and no more than its scopes say.',
    suggestions: users.map(({ userName, displayName }) => ({ value: userName, label: displayName ?? '' })),
  });
  const who = fieldGroup('Who it is', null, [
    textField(form, {
      name: 'name',
      label: 'Name',
      isRequired: true,
      hint: 'What your colleagues will look for, such as the customer and the program.',
    }),
    ...(isNew ? [] : [user]),
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
  return html`${who}${isNew ? actsAs(form, user) : null}${scopes}`;
}

/** Without a preset: whose rights a program has is for a person to decide. The style sheet shows the field of what is chosen. */
function actsAs(form: FormState, user: Html): Html {
  return fieldGroup('Acts as', 'The program can do what this account may, and no more than its scopes say.', [
    radioGroup(form, {
      name: 'actsAs',
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
    html`<div class="with-new">${textField(form, {
      name: 'accountName',
      label: 'Service account',
      isRequired: true,
      isCode: true,
      autocomplete: 'off',
      madeFrom: 'name',
      hint: 'Its name. The audit log shows it wherever the application acts.',
    })}</div>`,
    html`<div class="with-existing">${user}</div>`,
  ]);
}
