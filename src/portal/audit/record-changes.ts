/** The history of one record: the newest entries of the audit log about it. */
import type { PortalTheme } from '../../domain/portal-theme.ts';
import { type Html, html } from '../../http/html.ts';
import type { AuditRecord } from '../../store/port/audit.ts';
import type { PageCall } from '../frame/call.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { type Moment, timeline } from '../parts/details.ts';
import { differences } from '../parts/differences.ts';
import { linkButton, section } from '../parts/header.ts';
import type { IconName, Tone } from '../parts/mark.ts';
import { actorsSeen, entryText, type ResourceLink, readResourceLinks, verificationText } from './entries.ts';
import { fieldLabelsOf } from './field-labels.ts';

/** Entries that a history reads. */
const CHANGES_READ = 50;

export type RecordChanges = {
  /** Newest first. */
  readonly entries: readonly AuditRecord[];
  /** There are no older ones. */
  readonly isWhole: boolean;
  /** The actor as the reader of this portal may know it. */
  readonly actorOf: (actor: string) => ResourceLink;
};

/** `target`: the kind of the record with its id, such as `webhook:…`. Visits are no changes. */
export async function readChanges(
  { store, hasPage }: Pick<SharedPageDependencies, 'store' | 'hasPage'>,
  brand: PortalTheme | null,
  target: string,
  limit: number = CHANGES_READ,
): Promise<RecordChanges> {
  const entries = await store.audit.list(null, limit, { exactTarget: target, kind: 'changes' });
  const actors = entries.map(({ actor }) => actor);
  const linkOf = await readResourceLinks(store, actors, hasPage);
  return { entries, isWhole: entries.length < limit, actorOf: actorsSeen(store, linkOf, brand) };
}

/** Who stopped a webhook last: `by Anna`. Null if its stop is no longer known. */
export async function readStopper(
  { store, hasPage }: Pick<SharedPageDependencies, 'store' | 'hasPage'>,
  brand: PortalTheme | null,
  target: string,
): Promise<Html | null> {
  const [entry] = await store.audit.list(null, 1, { exactTarget: target, exactAction: 'webhook.stop' });
  if (entry === undefined) return null;
  return byActor(actorsSeen(store, await readResourceLinks(store, [entry.actor], hasPage), brand)(entry.actor));
}

/** Other moments of a record besides its changes. */
type OtherMoments = {
  /** Newest first. */
  readonly moments: readonly Moment[];
  /** There are no older ones. */
  readonly isWhole: boolean;
  /** The ids of changes that these moments tell. */
  readonly told: ReadonlySet<string>;
};

const NO_OTHERS: OtherMoments = { moments: [], isWhole: true, told: new Set() };

type RecordHistory = {
  /** The kind of the record with its id. */
  readonly target: string;
  readonly createdAt: number;
  readonly lead: string;
  readonly changes: RecordChanges;
  readonly others?: OtherMoments;
  /** The link to its own entries, of a record that is also an actor. */
  readonly didLabel?: string;
};

/** Changes on the page of a record without tabs. */
const CHANGES_SHOWN = 10;

/** The section “History” on the page of a record without tabs. */
export async function readHistorySection(
  dependencies: Pick<SharedPageDependencies, 'store' | 'hasPage'>,
  { brand, now }: Pick<PageCall, 'brand' | 'now'>,
  history: Omit<RecordHistory, 'changes' | 'others'>,
): Promise<Html> {
  const changes = await readChanges(dependencies, brand, history.target, CHANGES_SHOWN);
  return historySection({ ...history, changes }, now);
}

/** The tab “History” of a record: its changes and the other moments, newest first, as far back as both are known. */
export function historySection(
  { target, createdAt, lead, changes, others = NO_OTHERS, didLabel }: RecordHistory,
  now: number,
): Html {
  const { entries, actorOf } = changes;
  const shown = entries.filter(({ id }) => !others.told.has(id)).map((entry) => changeMoment(entry, actorOf));
  const isCreationKnown = entries.some(({ action }) => isCreation(action));
  const begin: Moment = { at: createdAt, title: 'Created', icon: 'plus' };
  const known = [others.isWhole ? 0 : others.moments.at(-1)?.at, changes.isWhole ? 0 : entries.at(-1)?.at];
  const from = Math.max(...known.map((at) => at ?? 0));
  const moments = [...others.moments, ...shown, ...(isCreationKnown ? [] : [begin])]
    .filter(({ at }) => (at ?? 0) >= from)
    .toSorted((one, other) => (other.at ?? 0) - (one.at ?? 0));
  return section({
    title: 'History',
    id: 'history',
    lead,
    actions: [
      didLabel === undefined ? null : linkButton({ href: `/audit?actor=${target}&show=all`, label: didLabel }),
      linkButton({ href: `/audit?target=${target}`, label: 'Audit log' }),
    ],
    content: html`
      ${timeline(moments, now)}
      ${from === 0 ? null : html`<p class="quiet">Older changes are in the audit log.</p>`}
    `,
  });
}

/** `by Anna`, with a link if the actor has a page. */
export function byActor({ name, href }: ResourceLink): Html {
  return html`<span class="quiet">by ${href === null ? name : html`<a class="plain-link" href="${href}">${name}</a>`}</span>`;
}

/** An entry in a timeline, with what it changed. */
function changeMoment(entry: AuditRecord, actorOf: RecordChanges['actorOf']): Moment {
  const { id, at, action } = entry;
  // The members of a verification are on the page of the endpoint; here is its result.
  const { lastVerification, ...changes } = entry.changes;
  const failure = verificationText(entry.changes);
  const hasNone = isCreation(action) || Object.keys(changes).length === 0;
  const [shape, tone] = looksOf(entry);
  return {
    id: `change-${id}`,
    at,
    icon: shape,
    tone,
    title: entryText(entry),
    text: html`
      <p>${byActor(actorOf(entry.actor))}</p>
      ${failure === null ? null : html`<p>${failure}</p>`}
      ${hasNone ? null : differences(changes, fieldLabelsOf(entry.target))}
    `,
  };
}

function isCreation(action: string): boolean {
  return action.endsWith('.create');
}

function looksOf({ action, changes }: AuditRecord): readonly [IconName, Tone] {
  const verb = action.slice(action.indexOf('.') + 1);
  if (verb === 'verify') {
    const isFailed = entryText({ action, changes }) !== entryText({ action, changes: {} });
    return isFailed ? ['cross', 'negative'] : ['check', 'positive'];
  }
  return LOOKS[verb] ?? ['edit', 'neutral'];
}

const LOOKS: Readonly<Record<string, readonly [IconName, Tone]>> = {
  create: ['plus', 'neutral'],
  start: ['play', 'info'],
  stop: ['stop', 'neutral'],
  replay: ['replay', 'info'],
  'give-up': ['minus', 'neutral'],
  'rotate-secret': ['key', 'info'],
  'rotate-api-key': ['key', 'info'],
  'rotate-authentication': ['key', 'info'],
};
