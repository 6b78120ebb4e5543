/** A webhook whose records a program reads with an access token. */
import type { TestContext } from 'node:test';
import type { CatchUpOptions } from '../../src/receiver/index.ts';
import { type ApiClient, succeeded, tokenFor } from './client.ts';
import { makeEventType, registerApplication } from './journey.ts';
import { startService } from './service.ts';

export type Orders = { 'order.placed': { n: number } };

/** A webhook in mode `pull`, or a stopped one in mode `push`, and the options of its reader. */
export async function readableOrders(t: TestContext, mode: 'pull' | 'push') {
  const service = await startService(t);
  const { admin, url } = service;
  await makeEventType(admin, 'order.placed');
  const id = mode === 'pull' ? await pullWebhook(admin) : await pushWebhook(admin);
  const { application, credentials } = await registerApplication(admin, ['records:read']);
  const options: Omit<CatchUpOptions<Orders>, 'onRecords'> = {
    url,
    webhookId: id,
    token: () => tokenFor(url, credentials),
  };
  return { service, admin, id, application, options };
}

async function pullWebhook(admin: ApiClient): Promise<string> {
  const webhook = { name: 'orders', mode: 'pull', eventTypes: ['order.placed'] };
  return (await succeeded<{ id: string }>(admin.post('webhooks', webhook))).id;
}

export async function pushWebhook(admin: ApiClient): Promise<string> {
  const endpoint = { name: 'receiver', url: 'https://receiver.example/' };
  const { id: endpointId } = await succeeded<{ id: string }>(admin.post('endpoints', endpoint));
  const webhook = { name: 'sent', endpointId, eventTypes: ['order.placed'] };
  return (await succeeded<{ id: string }>(admin.post('webhooks', webhook))).id;
}

export async function publishOrders(admin: ApiClient, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += 1000) {
    const events = numbers(at, Math.min(at + 1000, to)).map((n) => ({ type: 'order.placed', data: { n } }));
    await succeeded(admin.post('events', { events }));
  }
}

export const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);
