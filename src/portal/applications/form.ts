/** The fields of an application. */
import type { Application } from '../../access/application.ts';
import type { ApiProduct } from '../../access/catalogue.ts';
import type { User } from '../../access/user.ts';
import { type Html, html } from '../../http/html.ts';
import { TOKEN_VALIDITY_MAX_SECONDS, TOKEN_VALIDITY_MIN_SECONDS } from '../../kernel/limits/limits.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type FieldTable, number, oneOf, text } from '../field-table.ts';
import { fieldGroup } from '../parts/form.ts';
import { type FormState, refusedForm } from '../parts/form-state.ts';
import { scopeChoices } from '../parts/scope-choices.ts';
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
