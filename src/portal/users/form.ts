/** The fields of a user, what they send, and what a user has now. */

import type { ApiProduct } from '../../access/catalogue.ts';
import type { Constraints, User } from '../../access/user.ts';
import { type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { radioGroup } from '../parts/choices.ts';
import { textArea, textField } from '../parts/fields.ts';
import { fieldGroup } from '../parts/form.ts';
import { type FormState, newForm, refusedForm } from '../parts/form-state.ts';
import { permissionChoices } from '../parts/permission-choices.ts';
import { ROLE_TEXTS } from './list.ts';

export const USER_LABELS: Readonly<Record<string, string>> = {
  userName: 'User name',
  displayName: 'Name',
  email: 'Email address',
  role: 'Role',
  permissions: 'Permissions',
  morePermissions: 'Further permissions',
  constraints: 'Divisions',
};

/** Whoever is limited to divisions can add users of these alone. */
export function newUserForm({ divisions }: Constraints): FormState {
  return newForm(
    divisions === undefined
      ? { role: 'viewer', reach: 'all' }
      : { role: 'viewer', reach: 'some', divisions: divisions.join('\n') },
  );
}

export function userForm(user: User): FormState {
  const { userName, displayName, email, role, permissions, constraints } = user;
  return newForm({
    ...{ userName, displayName, email, role, permissions },
    reach: constraints.divisions === undefined ? 'all' : 'some',
    divisions: constraints.divisions?.join('\n') ?? '',
  });
}

/** The body of a creation, or of a merge patch of all that the form has: there null takes a limit away. */
export function userBody(form: URLSearchParams, isPatch: boolean): Readonly<Record<string, unknown>> {
  const text = (name: string): string | null => form.get(name)?.trim() || null;
  const divisions = (form.get('divisions') ?? '').split('\n').map((line) => line.trim());
  return {
    userName: form.get('userName') ?? '',
    displayName: text('displayName'),
    email: text('email'),
    role: form.get('role') ?? '',
    permissions: permissionsOf(form),
    constraints:
      form.get('reach') === 'some'
        ? { divisions: divisions.filter((line) => line !== '') }
        : isPatch
          ? { divisions: null }
          : {},
  };
}

/** Those of the boxes, and after them those that were typed and have no box. */
function permissionsOf(form: URLSearchParams): string[] {
  const typed = (form.get('morePermissions') ?? '').split(/\s+/).filter((name) => name !== '');
  return [...new Set([...form.getAll('permissions'), ...typed])];
}

/** A form that was refused: what is wrong with a permission that was typed is said where it was typed, with its name. */
export function refusedUserForm(form: URLSearchParams, refusal: Refusal): FormState {
  const boxes = new Set(form.getAll('permissions')).size;
  const permissions = permissionsOf(form);
  const details = refusal.details?.map(({ field, problem }) => {
    const at = Number(/^permissions\[(\d+)\]$/.exec(field)?.[1] ?? -1);
    return at < boxes ? { field, problem } : { field: 'morePermissions', problem: `“${permissions[at]}” ${problem}` };
  });
  return refusedForm(form, new Refusal(refusal.code, refusal.message, details === undefined ? {} : { details }));
}

export function userFields(form: FormState, products: readonly ApiProduct[]): Html {
  const who = fieldGroup('Who it is', null, [
    textField(form, {
      name: 'userName',
      label: 'User name',
      isRequired: true,
      isCode: true,
      autocomplete: 'off',
      hint: 'To sign in with. Without spaces.',
    }),
    textField(form, { name: 'displayName', label: 'Name', autocomplete: 'off' }),
    textField(form, { name: 'email', label: 'Email address', type: 'email', autocomplete: 'off' }),
  ]);
  const role = radioGroup(form, {
    name: 'role',
    label: 'In this portal',
    choices: Object.entries(ROLE_TEXTS).map(([value, { label, hint }]) => ({ value, label, hint })),
  });
  const permissions = fieldGroup(
    'What its applications may do',
    'A program that acts as this user can do these things, as far as its own scopes go. They open nothing in the portal.',
    permissionChoices(form, products),
  );
  const reach = fieldGroup(
    'How far that reaches',
    'Only APIs that know of divisions limit what is seen by them; the employees API does.',
    [
      radioGroup(form, {
        name: 'reach',
        label: 'Divisions',
        choices: [
          { value: 'all', label: 'All divisions' },
          { value: 'some', label: 'Only these' },
        ],
        isCompact: true,
      }),
      textArea(form, {
        name: 'divisions',
        label: 'Divisions, one a line',
        rows: 3,
        hint: 'Counts with “Only these”. None at all: it sees nobody.',
      }),
    ],
  );
  return html`${who}${role}${permissions}${reach}`;
}
