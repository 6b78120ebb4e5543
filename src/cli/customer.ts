/** `sallyport customer …`: customers, and links that open their portals. */
import type { Composed } from '../compose.ts';
import type { Customer } from '../customers/customer.ts';
import { CUSTOMER_LIST, type CustomerBody, customerReader, viewCustomer } from '../customers/customers.ts';
import { PORTAL_LINKS_PATH, portalLinkInput } from '../customers/portal-links.ts';
import {
  LINK_SESSION_DEFAULT_SECONDS,
  LINK_SESSION_MAX_SECONDS,
  LINK_SESSION_MIN_SECONDS,
  PORTAL_LINK_DEFAULT_SECONDS,
  PORTAL_LINK_MAX_SECONDS,
  PORTAL_LINK_MIN_SECONDS,
} from '../kernel/limits/customers.ts';
import { isoInstant } from '../kernel/schemas.ts';
import { definedFields, validate } from '../kernel/validation.ts';
import { COMMAND_LINE } from '../resources/acting.ts';
import type { CommandGroup, Invocation, Operand, Option } from './command.ts';
import { ADDRESS_SETTINGS, addressOf, configBesideServer, recordCommand } from './open.ts';
import { type Configured, listCommand, recordId, removeCommand, showCommand, updateCommand } from './resource.ts';

const NAMED: Operand = { name: 'customer', description: 'Its id, external id or name' };

const CUSTOMER: Configured<Customer, CustomerBody> = {
  group: 'customer',
  path: 'customers',
  operand: NAMED,
  example: { name: 'Acme', fields: '{"active":false}' },
  administration: ({ services }) => services.customers,
  reader: customerReader,
  names: ({ name, externalId }) => (externalId === null ? [name] : [externalId, name]),
  view: viewCustomer,
  updateExplanation:
    '{"active":false} suspends the customer: its sessions, applications and tokens are refused from then on, and its webhooks stop and\nkeep what waits. {"active":true} starts the webhooks again that stopped for this reason.',
};

/** `--customer` of commands that create what may belong to a customer. */
export const CUSTOMER_OPTION: Readonly<Record<'customer', Option>> = {
  customer: { value: '<customer>', description: 'Id, external id or name of the customer that it belongs to' },
};

/** The id that `--customer` names; undefined without it. Throws `CommandError` for an unknown customer. */
export async function customerIdOf(
  composed: Composed,
  { text }: Pick<Invocation, 'text'>,
): Promise<string | undefined> {
  const given = text('customer');
  return given === undefined ? undefined : recordId(CUSTOMER, composed, given);
}

export const customerCommands: CommandGroup = [
  recordCommand({
    name: 'customer create',
    summary: 'Create a customer',
    examples: ['sallyport customer create --name Acme --external-id acct_17'],
    options: {
      name: { value: '<name>', required: true, description: 'A name for people' },
      'external-id': { value: '<text>', description: 'Your own id of the customer' },
      metadata: { value: '<name=value>', many: true, description: 'A pair of text, such as plan=gold' },
    },
    run: async ({ services }, { text, texts }) => {
      const body = definedFields({
        name: text('name'),
        externalId: text('external-id'),
        metadata: Object.fromEntries(texts('metadata').map(pairOf)),
      });
      return { record: viewCustomer(await services.customers.create(customerReader.create(body), COMMAND_LINE)) };
    },
  }),
  listCommand(CUSTOMER, { rules: CUSTOMER_LIST, columns: ['id', 'name', 'externalId', 'active'] }),
  showCommand(CUSTOMER),
  updateCommand(CUSTOMER),
  recordCommand({
    name: 'customer link',
    summary: "Print a one-time link to a customer's portal",
    examples: ['sallyport customer link Acme', 'sallyport customer link Acme --role viewer --expires-in-seconds 86400'],
    explanation:
      'Whoever opens the link first acts for the customer. It has the address of the running server, or without one the address in the settings.',
    operands: [NAMED],
    options: {
      role: { value: '<role>', description: 'administrator or viewer (default: administrator)' },
      'expires-in-seconds': {
        value: '<number>',
        integer: true,
        description: `How long it can be opened, ${PORTAL_LINK_MIN_SECONDS} to ${PORTAL_LINK_MAX_SECONDS} (default: ${PORTAL_LINK_DEFAULT_SECONDS})`,
      },
      'session-seconds': {
        value: '<number>',
        integer: true,
        description: `How long the session lasts, ${LINK_SESSION_MIN_SECONDS} to ${LINK_SESSION_MAX_SECONDS} (default: ${LINK_SESSION_DEFAULT_SECONDS})`,
      },
      'return-url': { value: '<url>', description: 'The page of your product that the portal leads back to' },
    },
    settings: ADDRESS_SETTINGS,
    run: async (composed, invocation) => {
      const { operand, text, integer } = invocation;
      const address = addressOf(await configBesideServer(invocation));
      const input = definedFields({
        role: text('role') ?? 'administrator',
        expiresInSeconds: integer('expires-in-seconds'),
        sessionSeconds: integer('session-seconds'),
        returnUrl: text('return-url'),
      });
      const id = await recordId(CUSTOMER, composed, operand('customer'));
      const { token, expiresAt } = await composed.services.portalLinks.create(
        id,
        validate(portalLinkInput, input),
        COMMAND_LINE,
      );
      return {
        record: { url: `${address}${PORTAL_LINKS_PATH}/${token}`, expiresAt: isoInstant(expiresAt) },
        note: 'The link is shown only once.',
      };
    },
  }),
  removeCommand(
    CUSTOMER,
    'A customer to whom anything belongs cannot be removed. To suspend one instead, see sallyport help customer update.',
  ),
];

/** `name=value`; without `=` the value is empty. */
function pairOf(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
