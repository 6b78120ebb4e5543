/** The name of each role, and what it may do in the portal. The API uses permissions, not roles. */
import type { Role } from '../../domain/user.ts';

type RoleText = { readonly label: string; readonly hint: string };

const ACTS = 'Sees everything. Starts, stops and tests webhooks, verifies endpoints';

const TEXTS: Readonly<Record<Role, RoleText>> = {
  administrator: { label: 'Administrator', hint: 'May do everything in the portal.' },
  operator: { label: 'Operator', hint: `${ACTS}, publishes events, and sends deliveries again.` },
  viewer: { label: 'Viewer', hint: 'Sees everything, changes nothing.' },
  service: { label: 'Service account', hint: 'Not a person: it cannot sign in. Applications act as it.' },
};

/** For a customer, an operator is who runs the service: its own person works on webhooks. */
const TEXTS_OF_CUSTOMER: Readonly<Record<Role, RoleText>> = {
  ...TEXTS,
  operator: {
    label: 'Webhook operator',
    hint: `${ACTS}, and sends deliveries again. Changes no settings, applications or users.`,
  },
};

/** The same as the operator reads it: of another portal than the one it is shown in. */
const TEXTS_OF_CUSTOMER_FOR_OPERATOR: Readonly<Record<Role, RoleText>> = {
  ...TEXTS_OF_CUSTOMER,
  administrator: { label: 'Administrator', hint: 'Manages everything that belongs to this customer.' },
  operator: {
    label: 'Webhook operator',
    hint: TEXTS_OF_CUSTOMER.operator.hint.replace('Sees everything.', 'Sees everything of this customer.'),
  },
  viewer: { label: 'Viewer', hint: 'Sees everything of this customer, changes nothing.' },
};

export const ROLES = Object.keys(TEXTS) as readonly Role[];

export function roleText(role: Role, isOfCustomer: boolean): RoleText {
  return (isOfCustomer ? TEXTS_OF_CUSTOMER : TEXTS)[role];
}

/** The text of a role of a customer for the operator. */
export function customersRoleText(role: Role): RoleText {
  return TEXTS_OF_CUSTOMER_FOR_OPERATOR[role];
}
