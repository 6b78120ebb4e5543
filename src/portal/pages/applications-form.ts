/** The fields of an application, what they send, and what an application has now. */
import { type Html, html } from '../../http/html.ts';
import {
  TOKEN_VALIDITY_DEFAULT_SECONDS,
  TOKEN_VALIDITY_MAX_SECONDS,
  TOKEN_VALIDITY_MIN_SECONDS,
} from '../../limits.ts';
import { Refusal } from '../../refusal.ts';
import type { Application } from '../../store/applications.ts';
import type { ApiProduct } from '../../store/products.ts';
import type { User } from '../../store/users.ts';
import { numberField, textField } from '../parts/fields.ts';
import { fieldGroup } from '../parts/form.ts';
import { type FormState, newForm, refusedForm } from '../parts/form-state.ts';
import { numberOf } from './endpoints-input.ts';
import { scopeChoices } from './scope-choices.ts';

export const APPLICATION_LABELS: Readonly<Record<string, string>> = {
  name: 'Name',
  userId: 'Acts as',
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
  const details = refusal.details?.map(({ field, problem }) => ({
    field,
    problem: field === 'userId' ? problem.replace('the id of', 'the name of') : problem,
  }));
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
  const who = fieldGroup('Who it is', null, [
    textField(form, {
      name: 'name',
      label: 'Name',
      isRequired: true,
      hint: 'What your colleagues will look for, such as the customer and the program.',
    }),
    textField(form, {
      name: 'userId',
      label: 'Acts as',
      isRequired: !isNew,
      isCode: true,
      autocomplete: 'off',
      hint: html`The name of a user. The program can do what that user may, and no more than its scopes say.${isNew ? ' Left empty, it gets a new account of its own, with just the permissions it needs.' : null}`,
      suggestions: users.map(({ userName, displayName }) => ({ value: userName, label: displayName ?? '' })),
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
