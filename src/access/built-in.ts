/** The API products of Sallyport's own API (contract §3.2, §4.1): read-only, compared with the stored ones at every start. */
import type { Product } from '../domain/catalogue.ts';

const EDGE = '/services/api/x/edge/v1';
const EMPLOYEES = '/services/api/x/users/v1/employees';
const CATALOGUE = '/services/api/event-catalogue';

type BuiltInProduct = Omit<Product, 'id'> & { readonly id: string };

/** A resource that is viewed with one scope and changed with another. */
function administered(resource: string, noun: string, path: string = resource): Pick<Product, 'scopes' | 'rules'> {
  const view = `${resource}:view`;
  const manage = `${resource}:manage`;
  return {
    scopes: [
      { name: view, description: `See ${noun}.` },
      { name: manage, description: `Create, change and delete ${noun}.` },
    ],
    rules: administeredRules(path, view, manage),
  };
}

function administeredRules(path: string, view: string, manage: string): Product['rules'] {
  return [
    { methods: ['GET'], path: `${EDGE}/${path}`, scope: view },
    { methods: ['GET'], path: `${EDGE}/${path}/{id}`, scope: view },
    { methods: ['POST'], path: `${EDGE}/${path}`, scope: manage },
    { methods: ['PATCH', 'DELETE'], path: `${EDGE}/${path}/{id}`, scope: manage },
    { methods: ['POST'], path: `${EDGE}/${path}/{id}/{action}`, scope: manage },
  ];
}

const RESOURCES = [
  administered('customers', 'customers'),
  administered('applications', 'registered applications'),
  administered('users', 'users'),
  administered('catalogue', 'API products', 'products'),
  administered('endpoints', 'endpoints'),
  administered('webhooks', 'webhooks and event types'),
  administered('keys', 'PGP keys'),
];

const ADMINISTRATION: BuiltInProduct = {
  id: '0193a1f0-0000-7000-8000-000000000001',
  name: 'Administration',
  scopes: [
    ...RESOURCES.flatMap(({ scopes }) => scopes),
    { name: 'events:publish', description: 'Publish events.' },
    { name: 'events:erase', description: "Erase one person's data from events." },
    { name: 'deliveries:view', description: 'See deliveries and their attempts.' },
    { name: 'deliveries:replay', description: 'Send deliveries again.' },
    {
      name: 'records:read',
      description: 'Read the records of webhooks and their events with their data, and acknowledge them.',
    },
    { name: 'audit:view', description: 'See the audit log.' },
    { name: 'usage:view', description: 'See usage and limits.' },
    { name: 'tokens:introspect', description: 'Introspect access tokens.' },
    { name: 'edge:metrics', description: 'Read the metrics from elsewhere than the loopback address.' },
  ],
  rules: [
    ...RESOURCES.flatMap(({ rules }) => rules),
    ...administeredRules('event-types', 'webhooks:view', 'webhooks:manage'),
    { methods: ['POST'], path: `${EDGE}/webhooks/{id}/replay`, scope: 'deliveries:replay' },
    { methods: ['POST'], path: `${EDGE}/webhooks/{id}/give-up`, scope: 'deliveries:replay' },
    { methods: ['GET'], path: `${EDGE}/webhooks/{id}/waiting-keys`, scope: 'deliveries:view' },
    { methods: ['GET'], path: `${EDGE}/webhooks/{id}/records`, scope: 'records:read' },
    { methods: ['POST'], path: `${EDGE}/webhooks/{id}/acknowledge`, scope: 'records:read' },
    { methods: ['GET'], path: `${EDGE}/events/{id}`, scope: 'records:read' },
    { methods: ['POST'], path: `${EDGE}/events`, scope: 'events:publish' },
    { methods: ['POST'], path: `${EDGE}/events/erase`, scope: 'events:erase' },
    { methods: ['GET'], path: `${EDGE}/erasures/{id}`, scope: 'events:erase' },
    { methods: ['GET'], path: `${EDGE}/deliveries`, scope: 'deliveries:view' },
    { methods: ['GET'], path: `${EDGE}/deliveries/{id}`, scope: 'deliveries:view' },
    { methods: ['POST'], path: `${EDGE}/deliveries/{id}/replay`, scope: 'deliveries:replay' },
    { methods: ['GET'], path: `${EDGE}/audit`, scope: 'audit:view' },
    { methods: ['GET'], path: `${EDGE}/audit/{id}`, scope: 'audit:view' },
    { methods: ['GET'], path: `${EDGE}/customers/{id}/usage`, scope: 'customers:view' },
    { methods: ['GET'], path: `${EDGE}/customers/{id}/usage.csv`, scope: 'customers:view' },
    { methods: ['GET'], path: `${EDGE}/usage`, scope: 'usage:view' },
    { methods: ['GET'], path: `${EDGE}/usage.csv`, scope: 'usage:view' },
    { methods: ['GET'], path: '/metrics', scope: 'edge:metrics' },
    { methods: ['GET'], path: CATALOGUE, scope: 'webhooks:view' },
  ],
};

const EMPLOYEES_API: BuiltInProduct = {
  id: '0193a1f0-0000-7000-8000-000000000002',
  name: 'Employees',
  scopes: [
    { name: 'employees:view', description: 'See employees.' },
    { name: 'employees:create', description: 'Create employees.' },
    { name: 'employees:edit', description: 'Change employees.' },
  ],
  rules: [
    { methods: ['GET'], path: EMPLOYEES, scope: 'employees:view' },
    { methods: ['GET'], path: `${EMPLOYEES}/{userId}`, scope: 'employees:view' },
    { methods: ['POST'], path: EMPLOYEES, scope: 'employees:create' },
    { methods: ['PATCH', 'PUT'], path: `${EMPLOYEES}/{userId}`, scope: 'employees:edit' },
  ],
};

export const BUILT_IN_PRODUCTS: readonly Product[] = [ADMINISTRATION, EMPLOYEES_API];

/** Paths under these are served here, and only the rules above may match them. */
export const BUILT_IN_PREFIXES: readonly string[] = [EDGE, EMPLOYEES, CATALOGUE, '/services/api/oauth2', '/metrics'];

/** The scopes of the first application. The first administrator has these permissions and those of the employees API. */
export const ADMINISTRATION_SCOPES: readonly string[] = ADMINISTRATION.scopes.map(({ name }) => name);
/**
 * The scopes of the administration that applications and users of customers may have: each reaches no further than the customer's own
 * resources (contract §8.4). Administrators of customers have all of them.
 */
export const CUSTOMER_SCOPES: readonly string[] = [
  ...['endpoints', 'webhooks', 'keys', 'applications', 'users'].flatMap((name) => [`${name}:view`, `${name}:manage`]),
  'events:publish',
  'deliveries:view',
  'deliveries:replay',
  'records:read',
  'audit:view',
  'usage:view',
];

/** Whether users of customers may not have this permission. */
export function isForOperatorAlone(name: string): boolean {
  return ADMINISTRATION_SCOPES.includes(name) && !CUSTOMER_SCOPES.includes(name);
}

/** Whether applications of customers may not have this scope. Employees are those of the operator. */
export function isScopeOfOperator(name: string): boolean {
  return BUILT_IN_SCOPES.includes(name) && !CUSTOMER_SCOPES.includes(name);
}

/** Everything that the first administrator may do. */
export const BUILT_IN_SCOPES: readonly string[] = BUILT_IN_PRODUCTS.flatMap(({ scopes }) =>
  scopes.map(({ name }) => name),
);
