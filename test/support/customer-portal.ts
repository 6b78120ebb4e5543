/** A customer with a session in its own portal, in a real browser. */

import assert from 'node:assert/strict';
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

export const PASSWORD = 'correct horse battery staple';

/** Makes an administrator of the customer, who sets the password with an invitation. */
export async function userOf({ service, url }: Portal, { id }: Customer, userName: string): Promise<void> {
  const { admin } = service;
  const user = await succeeded<{ id: string }>(
    admin.post('users', { userName, customerId: id, role: 'administrator' }),
  );
  const invitation = await succeeded<{ url: string }>(admin.post(`users/${user.id}/invite`, {}));
  const form = { password: PASSWORD, passwordAgain: PASSWORD };
  const answer = await fetch(url + new URL(invitation.url).pathname, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), new RegExp(`href="/sign-in/${id}"`));
}
