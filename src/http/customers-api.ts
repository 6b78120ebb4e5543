/**
 * The OpenAPI document of what a customer's applications may call (contract §8.3, §8.4), in words for their developers. It is made from the
 * routes, so an operation that only the operator has is never in it.
 */
import { BUILT_IN_PRODUCTS, CUSTOMER_SCOPES } from '../access/built-in.ts';
import { compileCatalogue, matchRule } from '../domain/catalogue.ts';
import { memoized } from '../kernel/lru.ts';
import type { ApiDocument } from './api-document.ts';
import { openApiDocument } from './openapi.ts';
import type { Route } from './route.ts';

export type CustomersApi = ApiDocument & { readonly openapi: string };

/** Without an address, the addresses in the document are relative. */
export type CustomersApiAt = (publicUrl: string | null) => CustomersApi;

/** `routes`: those of the operator. */
export function createCustomersApi(routes: () => readonly Route[]): CustomersApiAt {
  const documentAt = memoized(ADDRESSES_KEPT, (url) => customersDocument(routes(), url));
  return (publicUrl) => documentAt((publicUrl ?? '').replace(/\/$/, ''));
}

/** Documents that are kept, one for each address by which the portal is called. Without a public address, a caller chooses it. */
const ADDRESSES_KEPT = 4;

function customersDocument(routes: readonly Route[], publicUrl: string): CustomersApi {
  const products = BUILT_IN_PRODUCTS.map((product) => ({
    ...product,
    scopes: product.scopes.filter(({ name }) => CUSTOMER_SCOPES.includes(name)),
  }));
  const { info, ...document } = openApiDocument({ routes: routesOfCustomers(routes), publicUrl, products });
  const { version, description } = info as { readonly version: string; readonly description: string };
  return inCustomersWords({ ...document, info: { title: 'API', version, description } }) as CustomersApi;
}

/** Open routes that programs of customers use. A customer may call no guarded route that is not for both. */
const OPEN: readonly string[] = [
  'issueToken',
  'revokeToken',
  'getWebhookKeys',
  'getEgressAddresses',
  'getEventCatalogue',
  'getAsyncApiDocument',
  'getEventTypesTypeScript',
];

export function routesOfCustomers(routes: readonly Route[]): readonly Route[] {
  const catalogue = compileCatalogue(BUILT_IN_PRODUCTS);
  return routes.filter(({ for: whom, access, method, path, operationId }) => {
    if (operationId === undefined) return false;
    if (access === 'open') return whom === 'anyone' && OPEN.includes(operationId);
    const rule = matchRule(catalogue, method, path);
    return whom === 'both' && rule !== null && CUSTOMER_SCOPES.includes(rule.scope);
  });
}

/** Members and parameters that only the operator can use, or that are the same in every reply to a customer. */
export const OPERATORS_MEMBERS: readonly string[] = [
  'customerId',
  'customerExternalId',
  'customerName',
  'audience',
  'constraints',
  // Usage is read by day, or by customer.
  'by',
];

/** Parts of texts, and the text for a customer. None has a character that JSON escapes. */
export const IN_CUSTOMERS_WORDS: readonly (readonly [text: string, instead: string])[] = [
  ['List the usage of customers', 'List your usage by day'],
  ['Download the usage of customers', 'Download your usage by day'],
  [' The usage of deleted customers stays until it expires.', ''],
  ['What a customer used on a day, or in a period.', 'What you used on a day, or in a period.'],
  ['Events that were published for the customer. Those for everyone count for the operator.', 'Events for you.'],
  ['What customers used, by day.', 'What you used, by day.'],
  ['; for customers also `operator`.', ', or `operator` for the company that runs this service.'],
  ['Empty if the operator has not set them.', 'Empty if they are not fixed.'],
  [' For employee events by default the `userId`.', ''],
  ['Access tokens: issued, introspected, revoked, and checked for a proxy.', 'Get and revoke access tokens.'],
  ['Portal accounts: permissions and constraints.', 'The accounts of your people and your programs.'],
  ['Publishing and erasing events.', 'Publish events, and read the events of your webhooks.'],
  ['Create, change and delete webhooks and event types.', 'Create, change and delete webhooks.'],
  ['There is no such customer', 'There is no such usage'],
  ['Too many tests of the customer are in progress', 'Too many of your tests are in progress'],
  ['Too many previews of the customer are in progress', 'Too many of your previews are in progress'],
  ['what a customer may get each second', 'what you may publish each second'],
  ['too many large requests of a customer are in progress', 'too many of your large requests are in progress'],
  ['Find it in the log by `errorId`.', 'Name its `errorId` when you ask for help.'],
  // The examples.
  ['the database cannot be written', 'try again later'],
  ['employees:edit', 'webhooks:view'],
  ['employees:view', 'deliveries:view'],
  ['Employees to payroll', 'Orders to the shop'],
  ['employee.created', 'order.created'],
  ['employee.updated', 'order.updated'],
  ['employee.*', 'order.*'],
  ['"data.division":{"$in":["sales","support"]}', '"data.country":{"$in":["PT","ES"]}'],
  ['"data.division":"sales"', '"data.country":"PT"'],
  ['data.division', 'data.country'],
  ['payslip.published', 'invoice.paid'],
  ['payslipPublished', 'invoicePaid'],
  ['payslipId', 'invoiceId'],
  ['payslip-2026-11-HR-1042', 'invoice-2026-1042'],
  ['2026-11/HR-1042', '2026-1042'],
  ['Payroll program', 'Shop program'],
  ['payroll', 'shop'],
];

function inCustomersWords(document: unknown): unknown {
  const worded = IN_CUSTOMERS_WORDS.reduce((text, [from, to]) => text.replaceAll(from, to), JSON.stringify(document));
  return JSON.parse(worded, (key, value: unknown) => {
    if (OPERATORS_MEMBERS.includes(key)) return undefined;
    return Array.isArray(value) ? value.filter((item) => !OPERATORS_MEMBERS.includes(nameIn(item))) : value;
  });
}

/** The name of a parameter, or of a member in a list of the required ones. */
function nameIn(item: unknown): string {
  if (typeof item === 'object' && item !== null && 'in' in item && 'name' in item) return String(item.name);
  return typeof item === 'string' ? item : '';
}
