/**
 * Actions in the search: `rotate secret of Production` leads to the form. Words of a text that name an action are recognised from three
 * letters on, in any order; the others are the name of what it is done to.
 */
import type { PortalRole } from '../../domain/user.ts';
import type { FoundKind } from '../../store/port/search.ts';

/** An action on one resource. Its page has `{id}`, and `{name}` if it needs the name. */
export type Action = {
  readonly kind: FoundKind;
  /** Of each group, the text must have a word. */
  readonly words: readonly (readonly string[])[];
  readonly label: (name: string) => string;
  /** The registered path, and the rest of the link. */
  readonly page: string;
  readonly query?: string;
  readonly role: PortalRole;
  /** Its button on the page, for an action without a page of its own. The page has it only while the action is possible. */
  readonly button?: ActionButton;
  /** Words that belong to the action, and not to the name. */
  readonly also?: readonly string[];
};

/** A button to which the search leads: `stop` has the id `stop-button`. A link to the id moves the focus there. */
type ActionButton = 'start' | 'stop' | 'test' | 'enable' | 'disable' | 'verify';

/** An action without a resource. */
export type Creation = {
  readonly noun: string;
  readonly label: string;
  readonly page: string;
  readonly role: PortalRole;
};

const LISTS: readonly (readonly [FoundKind, string])[] = [
  ['endpoint', '/endpoints'],
  ['webhook', '/webhooks'],
  ['event-type', '/event-types'],
  ['application', '/applications'],
  ['user', '/users'],
  ['customer', '/customers'],
  ['product', '/products'],
  ['key', '/keys'],
];

const RENEW = ['rotate', 'renew', 'new', 'regenerate'];
const CHANGE = ['change', 'edit'];
const START = ['start', 'resume', 'continue', 'unpause'];
const STOP = ['stop', 'pause', 'halt'];
const DELETE = ['delete', 'remove'];

export const ACTIONS: readonly Action[] = [
  action('endpoint', [RENEW, ['secret']], (name) => `New secret for ${name}`, '/endpoints/{id}/rotate-secret'),
  action('endpoint', [RENEW, ['key', 'api']], (name) => `New API key for ${name}`, '/endpoints/{id}/rotate-api-key'),
  action(
    'endpoint',
    [['receiver', 'code', 'hand-out']],
    (name) => `Receiver set-up of ${name}`,
    '/endpoints/{id}/receiver',
    {
      role: 'viewer',
    },
  ),
  action(
    'application',
    [RENEW, ['secret']],
    (name) => `New client secret for ${name}`,
    '/applications/{id}/regenerate-secret',
  ),
  onPage('webhook', [START], (name) => `Start ${name}`, '/webhooks/{id}', 'start'),
  onPage('webhook', [STOP], (name) => `Stop ${name}`, '/webhooks/{id}', 'stop'),
  onPage('webhook', [['test', 'ping']], (name) => `Send a test event through ${name}`, '/webhooks/{id}', 'test'),
  onPage('endpoint', [['enable', 'activate']], (name) => `Enable ${name}`, '/endpoints/{id}', 'enable'),
  onPage('endpoint', [['disable', 'deactivate']], (name) => `Disable ${name}`, '/endpoints/{id}', 'disable'),
  onPage('endpoint', [['verify', 'challenge']], (name) => `Verify ${name}`, '/endpoints/{id}', 'verify'),
  action(
    'application',
    [['revoke'], ['tokens']],
    (name) => `Revoke all tokens of ${name}`,
    '/applications/{id}/revoke-tokens',
  ),
  action('webhook', [['failures', 'errors', 'causes']], (name) => `Failures of ${name}`, '/deliveries/failures', {
    query: '?webhook={id}',
    role: 'viewer',
  }),
  action('webhook', [['deliveries']], (name) => `Deliveries of ${name}`, '/deliveries', {
    query: '?webhook={id}',
    role: 'viewer',
  }),
  action('webhook', [['replay', 'resend', 'again']], (name) => `Send records of ${name} again`, '/deliveries/replay', {
    query: '?webhook={id}',
    role: 'operator',
  }),
  action('event-type', [['publish']], (name) => `Publish ${name}`, '/publish', {
    query: '?type={name}',
    role: 'operator',
  }),
  action('customer', [['link', 'invite']], (name) => `Portal link for ${name}`, '/customers/{id}/portal-link'),
  action('customer', [['suspend', 'block']], (name) => `Suspend ${name}`, '/customers/{id}/suspend'),
  action('customer', [['usage', 'limits']], (name) => `Usage of ${name}`, '/customers/{id}/usage', { role: 'viewer' }),
  ...ofEvery([CHANGE], (name) => `Change ${name}`, 'edit'),
  ...ofEvery([DELETE], (name) => `Delete ${name}`, 'delete'),
];

export const CREATIONS: readonly Creation[] = [
  creation('endpoint', 'New endpoint', '/endpoints/new'),
  creation('webhook', 'New webhook', '/webhooks/new'),
  creation('event type', 'New event type', '/event-types/new'),
  creation('customer', 'Add a customer', '/customers/new'),
  creation('user person', 'Add a user', '/users/new'),
  creation('application', 'Register an application', '/applications/new'),
  creation('product', 'New API product', '/products/new'),
  creation('key', 'Import a key', '/keys/new'),
  { ...creation('event', 'Publish an event', '/publish'), role: 'operator' },
];

const CREATE = ['new', 'create', 'add', 'import', 'register', 'publish', 'make', 'invite'];
/** Words that neither name an action nor what it is done to. */
const SMALL = ['of', 'for', 'the', 'a', 'an', 'to', 'in', 'at'];
const NOUNS = ['endpoint', 'webhook', 'application', 'customer', 'user', 'key', 'product', 'event', 'type', 'records'];
const RECOGNISED_FROM = 3;

/** The actions that a text names, each with the name in it. */
export function actionsIn(text: string): readonly { readonly action: Action; readonly name: string }[] {
  const words = wordsOf(text);
  return ACTIONS.flatMap((one) => {
    const used = one.words.map((group) => words.findIndex((word) => begins(group, word)));
    if (used.includes(-1)) return [];
    const ignored = [...SMALL, ...NOUNS, ...(one.also ?? [])];
    const name = words.filter((word, at) => !used.includes(at) && !ignored.includes(word));
    return name.length === 0 ? [] : [{ action: one, name: name.join(' ') }];
  });
}

/** The actions without a resource that a text names: `new webhook`, `add user`. */
export function creationsIn(text: string): readonly Creation[] {
  const words = wordsOf(text).filter((word) => !SMALL.includes(word));
  if (!words.some((word) => begins(CREATE, word))) return [];
  return CREATIONS.filter(({ noun, label }) => {
    const known = [...noun.split(' '), ...label.toLowerCase().split(' '), ...CREATE];
    return words.every((word) => known.some((one) => one.startsWith(word)));
  }).filter(
    ({ noun }) => words.length === 1 || noun.split(' ').some((one) => words.some((word) => one.startsWith(word))),
  );
}

function wordsOf(text: string): string[] {
  return text.trim().toLowerCase().split(/\s+/);
}

function begins(group: readonly string[], word: string): boolean {
  return word.length >= RECOGNISED_FROM && group.some((one) => one.startsWith(word));
}

function action(
  kind: FoundKind,
  words: Action['words'],
  label: Action['label'],
  page: string,
  { role = 'administrator', query }: { readonly role?: PortalRole; readonly query?: string } = {},
): Action {
  return { kind, words, label, page, role, ...(query !== undefined && { query }) };
}

/** With a button on the page of the resource. */
function onPage(
  kind: FoundKind,
  words: Action['words'],
  label: Action['label'],
  page: string,
  button: ActionButton,
): Action {
  const role = button === 'enable' || button === 'disable' ? 'administrator' : 'operator';
  const also = button === 'test' ? ['send', 'through'] : [];
  return { kind, words, label, page, query: `#${button}-button`, role, button, also };
}

function ofEvery(words: Action['words'], label: Action['label'], verb: string): Action[] {
  return LISTS.map(([kind, path]) => action(kind, words, label, `${path}/{id}/${verb}`));
}

function creation(noun: string, label: string, page: string): Creation {
  return { noun, label, page, role: 'administrator' };
}
