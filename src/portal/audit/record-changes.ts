/** The history of one record: the newest entries of the audit log about it. */
import type { PortalTheme } from '../../domain/portal-theme.ts';
import { type Html, html } from '../../http/html.ts';
import type { AuditRecord } from '../../store/port/audit.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import type { Moment } from '../parts/details.ts';
import { differences } from '../parts/differences.ts';
import type { IconName, Tone } from '../parts/mark.ts';
import { actorsSeen, entryText, type ResourceLink, readResourceLinks } from './audit-pages.ts';

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

/** `target`: `webhook:` or `endpoint:` with an id. */
export async function readChanges(
  { store, hasPage }: Pick<SharedPageDependencies, 'store' | 'hasPage'>,
  brand: PortalTheme | null,
  target: string,
): Promise<RecordChanges> {
  const entries = await store.audit.list(null, CHANGES_READ, { exactTarget: target });
  const actors = entries.map(({ actor }) => actor);
  const linkOf = await readResourceLinks(store, actors, hasPage);
  return { entries, isWhole: entries.length < CHANGES_READ, actorOf: actorsSeen(store, linkOf, brand) };
}

/** `by Anna`, with a link if the actor has a page. */
export function byActor({ name, href }: ResourceLink): Html {
  return html`<span class="quiet">by ${href === null ? name : html`<a class="plain-link" href="${href}">${name}</a>`}</span>`;
}

/** An entry in a timeline, with what it changed. */
export function changeMoment(entry: AuditRecord, actorOf: RecordChanges['actorOf']): Moment {
  const { id, at, action, changes } = entry;
  const [shape, tone] = looksOf(entry);
  const isNew = action.endsWith('.create');
  return {
    id: `change-${id}`,
    at,
    icon: shape,
    tone,
    title: entryText(entry),
    text: html`
      <p>${byActor(actorOf(entry.actor))}</p>
      ${isNew || Object.keys(changes).length === 0 ? null : differences(changes)}
    `,
  };
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
