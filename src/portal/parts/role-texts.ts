/** The name of each role, and what it may do in the portal. The API uses permissions, not roles. */
import type { Role } from '../../domain/user.ts';

type RoleText = { readonly label: string; readonly hint: string };

const ACTS = 'Sees everything. Starts, stops and tests webhooks, verifies endpoints';

const TEXTS: Readonly<Record<Role, RoleText>> = {
  administrator: { label: 'Administrator', hint: 'May do everything in the portal.' },
  operator: { label: 'Operator', hint: `${ACTS}, publishes events, and sends deliveries again.` },
  viewer: { label: 'Viewer', hint: 'Sees everything, changes nothing.' },
  service: { label: 'Service account', hint: 'No person: it cannot sign in. Applications act as it.' },
};

/** For a customer, an operator is who runs the service: its own person works on webhooks. */
const TEXTS_OF_CUSTOMER: Readonly<Record<Role, RoleText>> = {
  ...TEXTS,
  operator: {
    label: 'Webhook operator',
    hint: `${ACTS}, and sends deliveries again. Changes no settings, applications or users.`,
  },
};

export const ROLES = Object.keys(TEXTS) as readonly Role[];

export function roleText(role: Role, isOfCustomer: boolean): RoleText {
  return (isOfCustomer ? TEXTS_OF_CUSTOMER : TEXTS)[role];
}
