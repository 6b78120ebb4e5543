/**
 * How each verb of the store is confined to one customer (contract §8.3). A verb without a line here does not compile, nor does a line
 * `own` without its function in `customer-store.ts`.
 */
import type { Store } from './port/store.ts';

type Confinement =
  /** `customer-store.ts` has a function for it that reaches only the customer's own data. */
  | 'own'
  /** The verb of the whole store. It returns the same to every customer, or acts on an id that was read from the customer's store. */
  | 'shared'
  /** Not for customers: it throws before it reaches data. */
  | 'none';

export type StorePart = Exclude<keyof Store, 'customerId' | 'confirm' | 'instances'>;

export const CONFINEMENT = {
  customers: {
    ...own('get', 'getByExternalId', 'webhookNumbers', 'belongings'),
    ...none('list', 'insert', 'update', 'remove', 'search', 'owns', 'names', 'ownersOf', 'health', 'webhookNumbersOf'),
  },
  portalLinks: none('add', 'addToken', 'find', 'renewUrl', 'use'),
  usage: {
    ...own('count', 'days', 'list', 'sums'),
    // The counts of this process for all customers. They reveal nothing.
    ...shared('unwritten', 'write'),
    ...none('purge', 'daysOfAll'),
  },
  allowances: own('take', 'giveBack'),
  users: own('get', 'list', 'insert', 'update', 'remove', 'getByName', 'hasOtherAdministrator', 'isEmpty'),
  invitations: { ...own('put', 'expiries'), ...none('find', 'ownerOf', 'use') },
  products: {
    // The catalogue has no secrets, and what a customer may use of it is decided by its scopes.
    ...shared('all'),
    ...none('version', 'get', 'list', 'insert', 'update', 'remove', 'atVersion', 'replaceBuiltIn'),
  },
  applications: {
    ...own('get', 'list', 'insert', 'update', 'remove', 'ofUser'),
    ...none('getClient', 'holding', 'holders', 'others'),
  },
  applicationUses: { ...shared('latest'), ...none('note', 'unwritten', 'write') },
  tokens: { ...own('inForce'), ...none('version', 'issue', 'find', 'revoke') },
  failures: none('throttle'),
  shortLived: none('values'),
  employees: none('get', 'list', 'insert', 'update'),
  endpoints: { ...own('get', 'list', 'insert', 'update', 'remove'), ...shared('unchanged'), ...none('publicKeys') },
  keys: own('get', 'list', 'insert', 'update', 'remove', 'getByName'),
  // By the id of the calling application.
  keptReplies: shared('find', 'keep'),
  eventTypes: {
    ...own('get', 'getByName', 'list', 'all', 'isInLog', 'latestSample', 'volumes'),
    ...shared('version', 'offered'),
    ...none('insert', 'update', 'remove', 'replaceBuiltIn', 'sources'),
  },
  webhooks: {
    ...own('get', 'list', 'insert', 'update', 'remove', 'setState', 'resume'),
    ...own('ofEndpoint', 'standardOfEndpoint', 'versionAt', 'stoppedWithEndpoint', 'ofKey'),
    ...none('ofPattern', 'unencryptedOf', 'failingSince', 'stopWithEndpoint'),
  },
  events: { ...own('latest', 'judge', 'publish'), ...none('find') },
  dispatch: {
    ...own('target', 'waiting', 'records'),
    ...none('changed', 'positions', 'appended', 'ends', 'stoppedAmong', 'dueBatches', 'firstPending', 'beginSession'),
    ...none('releaseAll', 'waitingKeys', 'dueByKey', 'unlabelled', 'firstOfKeys', 'keysAfter'),
  },
  settlements: none('settle', 'rowOf'),
  pulls: own('acknowledge', 'ends'),
  deliveries: own('get', 'at', 'atPlaces', 'list', 'content', 'failures', 'offsetsBetween'),
  replays: own('count', 'replay', 'tryNow'),
  waitingKeys: own('list', 'giveUp'),
  attempts: {
    ...own('insert', 'get', 'lastOf', 'ofRecord', 'batch', 'latest', 'latestOf', 'lastOutcomes'),
    ...none('live'),
  },
  audit: { ...own('append', 'get', 'list', 'lastOf'), ...none('ofCustomer', 'head', 'hasHead', 'firstBroken') },
  settings: none('knowsMasterKey', 'proveWritable', 'checkMasterKey', 'portalTheme', 'putPortalTheme'),
  sessions: {
    ...own('ofUser', 'end', 'endAll', 'setPassword'),
    ...none('version', 'subscribe', 'begin', 'find', 'touch'),
  },
  passkeys: none('add', 'find', 'ofUser', 'use', 'remove'),
  registry: own('applications', 'users'),
  retention: none('nextWebhook', 'records', 'byAge', 'idempotencyKeys', 'erasures', 'keptReplies', 'shortLived'),
  removals: none('step'),
  erasures: none('begin', 'get', 'open', 'step', 'discardWaiting', 'finish', 'forgetCopies'),
  expiry: { ...own('all'), ...none('next', 'warn') },
  queues: none('read'),
  // Charts read `FigureKeeper.within`.
  figures: none('read', 'attempts', 'add', 'purge'),
  overview: own('backlog', 'ailing', 'dead', 'setUp'),
  directory: {
    ...own('webhooks', 'webhook', 'webhookNames', 'oldestWaitingAt', 'deadRecords', 'states'),
    ...own('endpoints', 'countEndpoints', 'webhooksOf', 'endpointNames'),
  },
  uses: { ...own('ofEndpoints', 'ofKeys', 'ofEventTypes'), ...none('ofPatterns', 'subscribers') },
  search: own('find'),
  terms: { ...own('find'), ...none('step', 'forget') },
  stateHistory: own('ofWebhook'),
  clockLead: none('moveWebhooks', 'moveRetries', 'resume', 'step', 'take'),
} as const satisfies {
  readonly [Part in StorePart]: { readonly [Verb in keyof Store[Part]]-?: Confinement };
};

/** The names of the verbs of a part that are confined so. */
export type VerbsThatAre<How extends Confinement, Part extends StorePart> = {
  [Verb in keyof Store[Part]]: Verb extends keyof (typeof CONFINEMENT)[Part]
    ? (typeof CONFINEMENT)[Part][Verb] extends How
      ? Verb
      : never
    : never;
}[keyof Store[Part]];

export type OwnVerbs<Part extends StorePart> = Pick<Store[Part], VerbsThatAre<'own', Part>>;

/**
 * A part of the store for one customer: `own` has its own verbs, shared ones are those of the whole store, and a call of any other is a
 * fault of the program that reaches no data.
 */
export function confined<Part extends StorePart>(store: Store, part: Part, own: OwnVerbs<Part>): Store[Part] {
  const verbs: Readonly<Record<string, Confinement>> = CONFINEMENT[part];
  const made = Object.entries(verbs).map(([verb, how]) => {
    const refuse = (): never => {
      throw new Error(`${part}.${verb} is not for customers`);
    };
    return [verb, how === 'own' ? Reflect.get(own, verb) : how === 'shared' ? Reflect.get(store[part], verb) : refuse];
  });
  return Object.fromEntries(made) as Store[Part];
}

type PartWithoutOwn = {
  [Part in StorePart]: VerbsThatAre<'own', Part> extends never ? Part : never;
}[StorePart];

/** The parts that have no verb of a customer's own: they need no function in `customer-store.ts`. */
export function partsWithoutOwn(store: Store): Pick<Store, PartWithoutOwn> {
  const parts = Object.entries(CONFINEMENT).filter(([, verbs]) => !Object.values(verbs).includes('own'));
  const made = parts.map(([part]) => [part, confined(store, part as PartWithoutOwn, {})]);
  return Object.fromEntries(made) as Pick<Store, PartWithoutOwn>;
}

type Confined<How extends Confinement, Verb extends string> = { readonly [Name in Verb]: How };

function own<Verb extends string>(...verbs: readonly Verb[]): Confined<'own', Verb> {
  return all('own', verbs);
}

function shared<Verb extends string>(...verbs: readonly Verb[]): Confined<'shared', Verb> {
  return all('shared', verbs);
}

function none<Verb extends string>(...verbs: readonly Verb[]): Confined<'none', Verb> {
  return all('none', verbs);
}

function all<How extends Confinement, Verb extends string>(how: How, verbs: readonly Verb[]): Confined<How, Verb> {
  return Object.fromEntries(verbs.map((verb) => [verb, how])) as Confined<How, Verb>;
}
