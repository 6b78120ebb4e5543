/** Webhooks with pending deliveries that no problem tells of: the stopped ones can be started here. */
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { Ailing, Backlog } from '../../store/port/overview.ts';
import type { Store } from '../../store/port/store.ts';
import { section } from '../parts/header.ts';
import { table } from '../parts/list.ts';
import { stateBadge } from '../parts/mark.ts';
import { countText, relativeTime } from '../parts/text.ts';
import type { RecordOwners } from '../record/owner.ts';
import { stoppedHint } from '../record/webhook-state.ts';
import type { ProblemButton } from './attention.ts';

type Queues = {
  readonly backlog: Backlog;
  /** The problems above say how much waits at theirs. */
  readonly ailing: readonly Pick<Ailing, 'id'>[];
  readonly owners: Pick<RecordOwners, 'hintOf'>;
  readonly stopped: ReadonlyMap<string, Html>;
};

/** Null if the problems tell all of it. `button`: null if the visitor may not start webhooks. */
export function queuesSection(
  { backlog, ailing, owners, stopped }: Queues,
  button: ProblemButton | null,
  now: number,
): Html | null {
  const known = new Set(ailing.map(({ id }) => id));
  const longest = backlog.longest.filter(({ id }) => !known.has(id));
  if (longest.length === 0) return null;
  const hasButton = button !== null && longest.some(({ state }) => !isRunnable(state));
  return section({
    title: queuesTitle(longest, known.size > 0),
    isPlain: true,
    content: table({
      caption: 'Webhooks with pending deliveries',
      columns: [
        { label: 'Webhook', kind: 'main' },
        { label: 'State', phone: 'state' },
        { label: 'Pending', kind: 'number', phone: 'named' },
        { label: 'Oldest', phone: 'named' },
        ...(hasButton ? [{ label: 'Action', kind: 'actions' as const }] : []),
      ],
      rows: longest.map(({ id, name, state, records, oldestAt }) => [
        html`<a href="/webhooks/${id}">${name}</a>${owners.hintOf(id)}`,
        html`${stateBadge(state)}${stopped.has(id) ? html` <span class="cell-hint">${stopped.get(id) ?? null}</span>` : null}`,
        html`<a href="/deliveries?webhook=${id}&state=pending">${countText(records)}</a>`,
        relativeTime(oldestAt, now),
        ...(hasButton ? [isRunnable(state) ? null : (button?.({ id, name }, null) ?? null)] : []),
      ]),
      rowIds: longest.map(({ id }) => `queue-${id}`),
      live: ['queue', 'queues'],
    }),
  });
}

function queuesTitle(queues: Backlog['longest'], isBesideProblems: boolean): string {
  if (queues.every(({ state }) => state === 'stopped')) return 'Stopped webhooks with pending deliveries';
  return isBesideProblems ? 'Other pending deliveries' : 'Pending deliveries';
}

/** Why webhooks with pending deliveries are stopped, by their ids. */
export async function readStopped(
  { directory }: Pick<Store, 'directory'>,
  { longest }: Backlog,
): Promise<Map<string, Html>> {
  const ids = longest.filter(({ state }) => state === 'stopped').map(({ id }) => id);
  const listings = await Promise.all(ids.map((id) => directory.webhook(id)));
  return new Map(
    listings.flatMap((listing) => {
      const hint = listing === null ? null : stoppedHint(listing.webhook.progress);
      return listing === null || hint === null ? [] : [[listing.webhook.id, hint] as const];
    }),
  );
}
