/** `sallyport customer …`: customers, and links that open their portals. */

import { CUSTOMER_LIST, type CustomerBody, customerReader, viewCustomer } from '../customers/customers.ts';
import {
  LINK_SESSION_DEFAULT_SECONDS,
  LINK_SESSION_MAX_SECONDS,
  LINK_SESSION_MIN_SECONDS,
  PORTAL_LINK_DEFAULT_SECONDS,
  PORTAL_LINK_MAX_SECONDS,
  PORTAL_LINK_MIN_SECONDS,
  portalLinkInput,
  viewPortalLink,
} from '../customers/portal-links.ts';
import {
  PORTAL_TOKEN_DEFAULT_SECONDS,
  PORTAL_TOKEN_MAX_SECONDS,
  PORTAL_TOKEN_MIN_SECONDS,
  portalTokenInput,
  viewPortalToken,
} from '../customers/portal-tokens.ts';
import { type CustomerUsageView, readUsagePeriod } from '../customers/usage.ts';
import { COMMAND_LINE } from '../domain/acting.ts';
import type { Customer, LinkRole } from '../domain/customer.ts';
import { ENDPOINTS_LIMIT_DEFAULT, WEBHOOKS_LIMIT_DEFAULT } from '../domain/limits.ts';
import { USAGE_COUNTS } from '../domain/usage.ts';
import { validate } from '../kernel/validation.ts';
import type { Composed } from '../services/compose.ts';
import type { CommandGroup, Invocation, Operand, Option } from './command.ts';
import { bodyOf } from './input.ts';
import { ADDRESS_SETTINGS, configBesideServer, dataCommand, recordCommand, serverAddress } from './open.ts';
import { printRecord, type Shown, tableText } from './output.ts';
import {
  actionCommand,
  type Configured,
  deleteCommand,
  listCommand,
  recordId,
  showCommand,
  updateCommand,
} from './resource.ts';

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
    '{"active":false} suspends the customer: its applications are refused from then on, its sessions, links ' +
    'and tokens end\npermanently, and its webhooks stop and keep their pending records. {"active":true} ' +
    'starts the webhooks again that stopped for this ' +
    'reason.\n{"limits":{"endpoints":5,"webhooks":10,"eventsPerSecond":100}} limits what it has; null ' +
    'returns\nto the default: ' +
    `${ENDPOINTS_LIMIT_DEFAULT} endpoints, ${WEBHOOKS_LIMIT_DEFAULT} webhooks, any number of events. Existing resources are kept.`,
};

/** `--customer` of commands that create what may belong to a customer. */
export const CUSTOMER_OPTION: Readonly<Record<'customer', Option>> = {
  customer: {
    value: '<customer>',
    field: 'customerId',
    description: 'Id, external id or name of the customer that it belongs to',
  },
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
      name: { value: '<name>', required: true, description: 'Name, shown in lists and messages' },
      'external-id': { value: '<text>', description: 'Your own id of the customer' },
      metadata: { value: '<name=value>', many: true, description: 'A pair of text, such as plan=gold' },
      'max-endpoints': {
        value: '<number>',
        field: 'limits.endpoints',
        integer: true,
        description: `How many endpoints it can have (default: ${ENDPOINTS_LIMIT_DEFAULT})`,
      },
      'max-webhooks': {
        value: '<number>',
        field: 'limits.webhooks',
        integer: true,
        description: `How many webhooks it can have (default: ${WEBHOOKS_LIMIT_DEFAULT})`,
      },
      'max-events-per-second': {
        value: '<number>',
        field: 'limits.eventsPerSecond',
        integer: true,
        description: 'How many events can be published for it each second (default: any number)',
      },
    },
    run: async ({ services }, invocation) => {
      const metadata = Object.fromEntries(invocation.texts('metadata').map(pairOf));
      const body = await bodyOf(invocation, { metadata });
      return { record: viewCustomer(await services.customers.create(customerReader.create(body), COMMAND_LINE)) };
    },
  }),
  listCommand(CUSTOMER, {
    rules: CUSTOMER_LIST,
    columns: ['name', { field: 'externalId', whole: true }, { field: 'state', of: stateOf }, 'id'],
  }),
  showCommand(CUSTOMER),
  updateCommand(CUSTOMER),
  actionCommand(CUSTOMER, {
    name: 'customer link',
    summary: "Print a one-time link to a customer's portal",
    examples: ['sallyport customer link Acme', 'sallyport customer link Acme --role viewer --expires-in-seconds 86400'],
    explanation:
      'The first person who opens the link acts for the customer. It has the address of the running server, ' +
      'or without one the address in the settings.',
    options: {
      role: {
        value: '<role>',
        choices: ['administrator', 'viewer'] satisfies LinkRole[],
        description: 'administrator or viewer (default: administrator)',
      },
      'expires-in-seconds': {
        value: '<number>',
        integer: true,
        description:
          `How long it can be opened, ${PORTAL_LINK_MIN_SECONDS} to ${PORTAL_LINK_MAX_SECONDS} (default: ` +
          `${PORTAL_LINK_DEFAULT_SECONDS})`,
      },
      'session-seconds': {
        value: '<number>',
        integer: true,
        description:
          `How long the session lasts, ${LINK_SESSION_MIN_SECONDS} to ${LINK_SESSION_MAX_SECONDS} (default: ` +
          `${LINK_SESSION_DEFAULT_SECONDS})`,
      },
      'return-url': { value: '<url>', description: 'The page of your product that the portal leads back to' },
      'renew-url': { value: '<url>', description: 'The page of your product that opens a new link after the session' },
    },
    settings: ADDRESS_SETTINGS,
    run: async (composed, invocation, id) => {
      const address = serverAddress(await configBesideServer(invocation));
      const asked = validate(portalLinkInput, { role: 'administrator', ...(await bodyOf(invocation)) });
      const made = await composed.services.portalLinks.create(id, asked, COMMAND_LINE);
      return { record: viewPortalLink(address, made), note: 'The link is shown only once.' };
    },
  }),
  actionCommand(CUSTOMER, {
    name: 'customer token',
    summary: 'Print a short-lived token of a customer',
    examples: [
      'sallyport customer token Acme --role viewer',
      'sallyport customer token Acme --expires-in-seconds 3600',
    ],
    explanation:
      'Your own pages call the API with it for the customer, as with an access token. It reaches nothing of other customers.',
    options: {
      role: { value: '<role>', description: 'administrator or viewer (default: administrator)' },
      'expires-in-seconds': {
        value: '<number>',
        integer: true,
        description:
          `How long it is valid, ${PORTAL_TOKEN_MIN_SECONDS} to ${PORTAL_TOKEN_MAX_SECONDS} (default: ` +
          `${PORTAL_TOKEN_DEFAULT_SECONDS})`,
      },
    },
    run: async (composed, invocation, id) => {
      const asked = validate(portalTokenInput, { role: 'administrator', ...(await bodyOf(invocation)) });
      const made = await composed.services.portalTokens.create(id, asked, COMMAND_LINE);
      return { record: viewPortalToken(made), note: 'The token is shown only once.' };
    },
  }),
  dataCommand({
    name: 'customer usage',
    summary: 'Show what a customer used, by day',
    examples: ['sallyport customer usage Acme', 'sallyport customer usage Acme --since 2026-11-01 --until 2026-11-30'],
    explanation:
      'Days begin and end in UTC. The counts of a running server from the last half minute may be missing. Days ' +
      'without usage are left out;\n--json has them, and the limits of the customer.',
    operands: [NAMED],
    options: {
      since: { value: '<day>', description: 'The first day (default: 29 days before --until)' },
      until: { value: '<day>', description: 'The last day (default: today)' },
    },
    run: async ({ clock, services, ...composed }, invocation) => {
      const { operand, text, terminal, json } = invocation;
      const asked = new URLSearchParams();
      for (const name of ['since', 'until'] as const) {
        const given = text(name);
        if (given !== undefined) asked.set(name, given);
      }
      const period = readUsagePeriod(asked, clock());
      const id = await recordId(CUSTOMER, { ...composed, clock, services }, operand('customer'));
      const used = await services.usage.ofCustomer(id, period);
      if (json) await printRecord(invocation, used);
      else await terminal.out(usageText(used));
    },
  }),
  deleteCommand(
    CUSTOMER,
    'A customer that has resources cannot be deleted. To suspend one instead, see sallyport help customer update.',
  ),
];

/** As the portal calls it. */
function stateOf({ active }: Shown): string {
  return active === true ? 'active' : 'suspended';
}

/** The days with usage, and the total. */
function usageText({ items, total, since, until }: CustomerUsageView): string {
  const used = items.filter((item) => USAGE_COUNTS.some((name) => item[name] > 0));
  if (used.length === 0) return `Nothing was used from ${since} to ${until}.\n`;
  return tableText([...used, { day: 'total', ...total }], ['day', ...USAGE_COUNTS]);
}

/** `name=value`; without `=` the value is empty. */
function pairOf(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
