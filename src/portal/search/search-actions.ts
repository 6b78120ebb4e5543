/**
 * Actions in the search: `rotate secret of Production` leads to the form. Words of a text that name an action are recognised from three
 * letters on, in any order; the others are the name of what it is done to.
 */
import type { PortalRole } from '../../domain/user.ts';
import type { FoundKind } from '../../store/port/search.ts';
import type { IconName } from '../parts/mark.ts';

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
  readonly extra?: readonly string[];
};

/** A button to which the search leads: `stop` has the id `stop-button`. A link to the id moves the focus there. */
type ActionButton = 'start' | 'stop' | 'test' | 'enable' | 'disable' | 'verify' | 'open';

/** An action without a resource. */
export type Creation = {
  readonly noun: string;
  readonly label: string;
  readonly page: string;
  readonly role: PortalRole;
  /** Its own verbs. */
  readonly verbs: readonly string[];
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
const CREATE = ['new', 'create', 'add', 'import', 'register', 'make'];
/** Buttons that only administrators have. */
const ADMINISTRATORS: readonly ActionButton[] = ['enable', 'disable', 'open'];
const extra = ['portal', ...CREATE];
const WITH_LINK_WORDS = { extra };

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
  action(
    'customer',
    [['link', 'invite']],
    (name) => `Create a portal link for ${name}`,
    '/customers/{id}/portal-link',
    WITH_LINK_WORDS,
  ),
  onPage('customer', [['open']], (name) => `Open as ${name}`, '/customers/{id}', 'open'),
  ofCustomer('endpoint', 'New endpoint', '/endpoints'),
  ofCustomer('webhook', 'New webhook', '/webhooks'),
  ofCustomer('user', 'Add a user', '/users'),
  ofCustomer('application', 'Register an application', '/applications'),
  ofCustomer('key', 'Import a key', '/keys'),
  action('customer', [['suspend', 'block']], (name) => `Suspend ${name}`, '/customers/{id}/suspend'),
  action('customer', [['usage', 'limits']], (name) => `Usage of ${name}`, '/customers/{id}/usage', { role: 'viewer' }),
  action('customer', [['publish']], (name) => `Publish an event for ${name}`, '/publish', {
    query: '?customer={id}',
    role: 'operator',
  }),
  ...ofEvery([CHANGE], (name) => `Change ${name}`, 'edit'),
  ...ofEvery([DELETE], (name) => `Delete ${name}`, 'delete'),
];

export const CREATIONS: readonly Creation[] = [
  creation('endpoint', 'New endpoint', '/endpoints/new'),
  creation('webhook', 'New webhook', '/webhooks/new'),
  creation('event type', 'New event type', '/event-types/new'),
  creation('customer', 'Add a customer', '/customers/new'),
  creation('user person', 'Add a user', '/users/new', ['invite']),
  creation('application', 'Register an application', '/applications/new'),
  creation('product', 'New API product', '/products/new'),
  creation('key', 'Import a key', '/keys/new'),
  { ...creation('event', 'Publish an event', '/publish', ['publish', 'send']), role: 'operator' },
];

/** Frequent actions, offered before anything is typed. */
export const STARTS: readonly (Pick<Creation, 'label' | 'page' | 'role'> & { readonly icon: IconName })[] = [
  { label: 'Failures by cause', page: '/deliveries/failures', role: 'viewer', icon: 'warning' },
  { label: 'Publish an event', page: '/publish', role: 'operator', icon: 'send' },
  { label: 'New webhook', page: '/webhooks/new', role: 'administrator', icon: 'plus' },
  { label: 'New endpoint', page: '/endpoints/new', role: 'administrator', icon: 'plus' },
  { label: 'Add a customer', page: '/customers/new', role: 'administrator', icon: 'plus' },
  { label: 'Add a user', page: '/users/new', role: 'administrator', icon: 'plus' },
  { label: 'Watch live', page: '/deliveries/watch', role: 'viewer', icon: 'delivery' },
  { label: 'Send many again', page: '/deliveries/replay', role: 'operator', icon: 'replay' },
  // For customers, who have fewer of the others.
  { label: 'Register an application', page: '/applications/new', role: 'administrator', icon: 'plus' },
  { label: 'Guide', page: '/guide', role: 'viewer', icon: 'book' },
];

/** Words that neither name an action nor what it is done to. */
const SMALL = ['of', 'for', 'the', 'a', 'an', 'to', 'in', 'at', 'as'];
const NOUNS = ['endpoint', 'webhook', 'application', 'customer', 'user', 'key', 'product', 'event', 'type', 'records'];
const RECOGNISED_FROM = 3;

type NamedAction = { readonly action: Action; readonly name: string };

/** The actions that a text names, each with the name in it. Without a name, as in `rotate`, they are those of any: the name is empty. */
export function actionsIn(text: string): readonly NamedAction[] {
  const words = wordsOf(text);
  const named = ACTIONS.flatMap((one) => {
    const used = one.words.map((group) => words.findIndex((word) => begins(group, word)));
    if (used.includes(-1)) return [];
    const ignored = [...SMALL, ...NOUNS, ...(one.extra ?? [])];
    const name = words.filter((word, at) => !used.includes(at) && !ignored.includes(word));
    return name.length === 0 ? [] : [{ action: one, name: name.join(' ') }];
  });
  return named.length > 0 ? named : actionsOfAny(words.filter((word) => !SMALL.includes(word)));
}

/** One word is the verb, and the others belong to the action or say of what kind it is. */
function actionsOfAny(words: readonly string[]): readonly NamedAction[] {
  return ACTIONS.filter(({ kind, words: groups, extra: more = [] }) => {
    const known = [...groups.flat(), ...more, ...kind.split('-')];
    return begun(groups[0] ?? [], words) && words.every((word) => known.some((one) => one.startsWith(word)));
  }).map((one) => ({ action: one, name: '' }));
}

function begun(group: readonly string[], words: readonly string[]): boolean {
  return words.some((word) => begins(group, word));
}

/** The actions without a resource that a text names: `new webhook`, `add user`, `publish`. */
export function creationsIn(text: string): readonly Creation[] {
  const words = wordsOf(text).filter((word) => !SMALL.includes(word));
  return CREATIONS.filter(({ noun, label, verbs }) => {
    const [nouns, does] = [noun.split(' '), [...CREATE, ...verbs]];
    if (!words.some((word) => begins(does, word))) return false;
    const known = [...nouns, ...label.toLowerCase().split(' '), ...does];
    const isNamed = words.length === 1 || nouns.some((one) => words.some((word) => one.startsWith(word)));
    return isNamed && words.every((word) => known.some((one) => one.startsWith(word)));
  });
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
  { role = 'administrator', ...more }: Partial<Pick<Action, 'role' | 'query' | 'extra'>> = {},
): Action {
  return { kind, words, label, page, role, ...more };
}

/** Something new of a customer: its form chooses the customer. */
function ofCustomer(noun: string, label: string, path: string): Action {
  const words = [CREATE, [noun]];
  return action('customer', words, (name) => `${label} for ${name}`, `${path}/new`, { query: '?customer={id}' });
}

/** With a button on the page of the resource. */
function onPage(
  kind: FoundKind,
  words: Action['words'],
  label: Action['label'],
  page: string,
  button: ActionButton,
): Action {
  const role = ADMINISTRATORS.includes(button) ? 'administrator' : 'operator';
  const extra = button === 'test' ? ['send', 'through'] : [];
  return { kind, words, label, page, query: `#${button}-button`, role, button, extra };
}

function ofEvery(words: Action['words'], label: Action['label'], verb: string): Action[] {
  return LISTS.map(([kind, path]) => action(kind, words, label, `${path}/{id}/${verb}`));
}

function creation(noun: string, label: string, page: string, verbs: readonly string[] = []): Creation {
  return { noun, label, page, role: 'administrator', verbs };
}
