/** Sallyport's own event types (contract §4.10): read-only, compared with the stored ones at every start. */
import { EMPLOYEE_CATEGORY, type EventType } from '../domain/event.ts';
import { installBuiltIns } from '../resources/built-in.ts';
import type { EventVerbs } from '../store/port/events.ts';

type BuiltInEventType = Omit<EventType, 'builtIn' | 'createdAt' | 'updatedAt'>;

const DESCRIPTIONS: readonly (readonly [number: string, name: string, description: string])[] = [
  ['01', 'employee.created', 'An employee was created.'],
  ['02', 'employee.updated', 'An employee was changed.'],
  ['11', 'webhook.started', 'A webhook was started; its first delivery or heartbeat is pending.'],
  ['12', 'webhook.running', "A webhook's last attempt succeeded."],
  ['13', 'webhook.stopped', 'A webhook was stopped, by an administrator or for the reason given.'],
  ['14', 'webhook.failing', "A webhook's last attempt failed."],
  ['15', 'webhook.failed', 'The service gave up on a webhook that failed for too long.'],
  ['16', 'webhook.key_expiring', 'A PGP key or client certificate of a webhook expires soon.'],
  ['17', 'webhook.test', 'A test event, which someone sends from a webhook.'],
];

const AT = '2026-11-21T05:00:00.000Z';
const [WEBHOOK_ID, ENDPOINT_ID, KEY_ID, EMPLOYEE_ID] = [5, 6, 7, 8].map(
  (n) => `0193a1f0-0000-7000-8000-00000000000${n}`,
);
const EMPLOYEE = {
  userId: EMPLOYEE_ID,
  externalId: null,
  userName: 'ada',
  firstName: 'Ada',
  lastName: 'Byron',
  email: 'ada@example.com',
  division: 'sales',
  managerId: null,
  hireDate: '2026-11-01',
  active: true,
  createdAt: AT,
  updatedAt: AT,
};

export const BUILT_IN_EVENT_TYPES: readonly BuiltInEventType[] = DESCRIPTIONS.map(([number, name, description]) => ({
  id: `0193a1f0-0000-7000-8000-0000000001${number}`,
  name,
  description,
  encryptionRequired: name.startsWith(EMPLOYEE_CATEGORY),
  dataSchema: null,
  sample: sampleOf(name),
  group: name.startsWith(EMPLOYEE_CATEGORY) ? 'Employees' : 'Webhooks',
  source: null,
  deprecated: false,
  public: true,
  searchPaths: [],
}));

/** The data of an example, as the service publishes it. */
function sampleOf(name: string): EventType['sample'] {
  if (name.startsWith(EMPLOYEE_CATEGORY)) return EMPLOYEE;
  if (name === 'webhook.test') return { webhookId: WEBHOOK_ID, webhookName: 'orders', at: AT };
  if (name === 'webhook.key_expiring')
    return {
      keyId: KEY_ID,
      keyName: 'customer',
      expiresAt: '2026-12-21T05:00:00.000Z',
      daysLeft: 30,
      webhookIds: [WEBHOOK_ID],
    };
  const [, state] = name.split('.');
  const change = { state, previousState: state === 'running' ? 'started' : 'running', reason: null, at: AT };
  return { webhookId: WEBHOOK_ID, webhookName: 'orders', endpointId: ENDPOINT_ID, ...change };
}

/** They keep their `createdAt`, and whether they are public, which the operator decides. */
export function installBuiltInEventTypes({ eventTypes }: EventVerbs, now: number): Promise<void> {
  return installBuiltIns(eventTypes, BUILT_IN_EVENT_TYPES, (eventType, before): EventType => {
    const same = before?.name === eventType.name && before.description === eventType.description;
    return {
      ...eventType,
      public: before?.public ?? eventType.public,
      builtIn: true,
      createdAt: before?.createdAt ?? now,
      updatedAt: same ? before.updatedAt : now,
    };
  });
}
