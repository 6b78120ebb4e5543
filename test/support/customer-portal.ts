/** A customer with a session in its own portal, in a real browser. */

import type { Portal, Visitor, VisitorOptions } from './browser.ts';
import { succeeded } from './client.ts';

export type Customer = { readonly id: string; readonly name: string };

export function makeCustomer({ service }: Portal, name = 'Acme', more: object = {}): Promise<Customer> {
  return succeeded<Customer>(service.admin.post('customers', { name, ...more }));
}

/** The path of a new portal link. */
export async function portalLink({ service }: Portal, { id }: Customer, more: object = {}): Promise<string> {
  const body = { role: 'administrator', ...more };
  const { url } = await succeeded<{ url: string }>(service.admin.post(`customers/${id}/portal-links`, body));
  return new URL(url).pathname;
}

/** A visitor who has opened a portal link of the customer. */
export async function openAs(
  portal: Portal,
  customer: Customer,
  options: VisitorOptions & { readonly link?: object } = {},
): Promise<Visitor> {
  const { link, ...visitorOptions } = options;
  const visitor = await portal.visit(visitorOptions);
  await visitor.open(await portalLink(portal, customer, link));
  return visitor;
}
