/** The fields of a user. */
import { INVITATION_MS } from '../../access/limits.ts';
import type { ApiProduct } from '../../domain/catalogue.ts';
import type { Constraints, Role, User } from '../../domain/user.ts';
import { html } from '../../http/html.ts';
import type { Refusal } from '../../kernel/refusal.ts';
import { permissionChoices } from '../parts/catalogue-choices.ts';
import { type FormState, radioGroup, refusedForm, textArea } from '../parts/fields.ts';
import { customersRoleText, ROLES, roleText } from '../parts/role-texts.ts';
import { type FieldTable, type FormField, oneOf, text, tick } from '../record/field-table.ts';

/** A service account keeps its role: a change would let a person sign in with the name of a program. */
export function userFields(before: User | null, products: readonly ApiProduct[], isOfCustomer: boolean): FieldTable {
  const isService = before?.role === 'service';
  return {
    ...(before === null && INVITING),
    userName: text({
      label: isService ? 'Account name' : 'User name',
      isRequired: true,
      isCode: true,
      autocomplete: 'off',
      hint: isService
        ? 'As the audit log shows it. No spaces.'
        : 'For signing in. An email address will do. No spaces.',
    }),
    displayName: text({ label: 'Name', autocomplete: 'off' }),
    ...(!isService && ofPeople(isOfCustomer ? 'own' : (before?.customerId ?? null) === null ? 'operator' : 'customer')),
    permissions: {
      title: 'Permissions',
      draw: (state) => html`${permissionChoices(state, products, isOfCustomer)}`,
      read: permissionsOf,
      fill: (value, name) => ({ [name]: value as readonly string[] }),
    },
    constraints: DIVISIONS,
  };
}

/** `whose`: the operator's users, those of a customer as the operator sees them, or those of the customer who reads. */
function ofPeople(whose: 'operator' | 'customer' | 'own'): FieldTable {
  const textOf = (role: Role) => (whose === 'customer' ? customersRoleText(role) : roleText(role, whose === 'own'));
  return {
    email: text({
      label: 'Email address',
      type: 'email',
      autocomplete: 'off',
      hint: 'Only for searching. Nothing is sent to it.',
    }),
    role: oneOf(
      {
        label: 'Role in the portal',
        title: 'Role',
        choices: ROLES.map((value) => ({ value, ...textOf(value) })),
      },
      { read: (sent, name) => sent.get(name) ?? '' },
    ),
  };
}

/** Of a new user. */
const INVITING: FieldTable = {
  invite: tick({
    label: 'Invite the user now',
    hint:
      'The next page shows a link with which the user sets a password. ' +
      `It works once, for ${INVITATION_MS / 3_600_000} hours. You send it yourself.`,
  }),
};

const DIVISIONS: FormField = {
  title: 'Divisions',
  draw: (state) =>
    html`
      ${radioGroup(state, {
        name: 'reach',
        label: 'Divisions',
        isLabelHidden: true,
        choices: [
          { value: 'all', label: 'All divisions' },
          { value: 'some', label: 'Only these' },
        ],
        isCompact: true,
      })}
      ${textArea(state, {
        name: 'divisions',
        label: 'Divisions, one per line',
        rows: 3,
        hint: 'For “Only these”. If empty, the user sees no employees.',
      })}
    `,
  read: (sent) => {
    const lines = (sent.get('divisions') ?? '').split('\n').map((line) => line.trim());
    return sent.get('reach') === 'some' ? { divisions: lines.filter((line) => line !== '') } : undefined;
  },
  fill: (value) => {
    const { divisions } = value as Constraints;
    return divisions === undefined ? { reach: 'all' } : { reach: 'some', divisions: divisions.join('\n') };
  },
};

/** The checked and the typed permissions, each once. */
function permissionsOf(sent: URLSearchParams): string[] {
  const typed = (sent.get('morePermissions') ?? '').split(/\s+/).filter((name) => name !== '');
  return [...new Set([...sent.getAll('permissions'), ...typed])];
}

/** Moves the problem of a typed permission to its field. */
export function refusedUserForm(typed: URLSearchParams, refusal: Refusal): FormState {
  const boxes = new Set(typed.getAll('permissions')).size;
  const permissions = permissionsOf(typed);
  return refusedForm(typed, refusal, ({ field, problem }) => {
    const at = Number(/^permissions\[(\d+)\]$/.exec(field)?.[1] ?? -1);
    return at < boxes ? { field, problem } : { field: 'morePermissions', problem: `“${permissions[at]}” ${problem}` };
  });
}
