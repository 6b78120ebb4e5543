/** Webhooks with pending deliveries that are not among the problems. The stopped ones can be started here. */
import { isUnverified } from '../../domain/endpoint.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { Ailing, Backlog } from '../../store/port/overview.ts';
import type { Store } from '../../store/port/store.ts';
import { section } from '../parts/header.ts';
import { table } from '../parts/list.ts';
import { stateBadge } from '../parts/mark.ts';
import { countText, relativeTime } from '../parts/text.ts';
import type { NamedEndpoint } from '../record/causes.ts';
import type { RecordOwners } from '../record/owner.ts';
import { stoppedHint } from '../record/webhook-state.ts';
import { endpointButton, type ProblemButton } from './attention.ts';

/** Why a webhook is stopped, and the endpoint that keeps it from starting; null if none does. */
export type Stopped = { readonly hint: Html; readonly barrier: NamedEndpoint | null };

type Queues = {
  readonly backlog: Backlog;
  /** The problems above say how much waits at theirs. */
  readonly ailing: readonly Pick<Ailing, 'id'>[];
  readonly owners: Pick<RecordOwners, 'hintAmong'>;
  readonly stopped: ReadonlyMap<string, Stopped>;
};

/** Null if the problems have all of it. `button`: null if the visitor may not start webhooks. */
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
        html`<a href="/webhooks/${id}">${name}</a>${owners.hintAmong(id)}`,
        html`${stateBadge(state)}${stopped.has(id) ? html` <span class="cell-hint">${stopped.get(id)?.hint ?? null}</span>` : null}`,
        html`<a href="/deliveries?webhook=${id}&state=pending">${countText(records)}</a>`,
        relativeTime(oldestAt, now),
        ...(hasButton ? [isRunnable(state) ? null : startOrBarrier({ id, name }, stopped.get(id), button)] : []),
      ]),
      rowIds: longest.map(({ id }) => `queue-${id}`),
      live: ['queue', 'queues'],
    }),
  });
}

function startOrBarrier(
  webhook: { readonly id: string; readonly name: string },
  stopped: Stopped | undefined,
  button: ProblemButton | null,
): Html | null {
  const barrier = stopped?.barrier ?? null;
  return barrier === null ? (button?.(webhook, null) ?? null) : endpointButton(barrier);
}

function queuesTitle(queues: Backlog['longest'], isBesideProblems: boolean): string {
  if (queues.every(({ state }) => state === 'stopped')) return 'Stopped webhooks with pending deliveries';
  return isBesideProblems ? 'Other pending deliveries' : 'Pending deliveries';
}

/** Why webhooks with pending deliveries are stopped, by their ids. */
export async function readStopped(
  { directory, endpoints }: Pick<Store, 'directory' | 'endpoints'>,
  { longest }: Backlog,
): Promise<Map<string, Stopped>> {
  const ids = longest.filter(({ state }) => state === 'stopped').map(({ id }) => id);
  const listings = await Promise.all(ids.map((id) => directory.webhook(id)));
  const reasons = listings.map(async (listing): Promise<(readonly [string, Stopped])[]> => {
    if (listing === null) return [];
    const { webhook, endpointEnabled } = listing;
    const { id, endpointId, progress } = webhook;
    const barrier = endpointEnabled || endpointId === null ? null : await endpoints.get(endpointId);
    if (barrier !== null) {
      const hint = isUnverified(barrier) ? html`endpoint not verified` : html`endpoint disabled`;
      return [[id, { hint, barrier }]];
    }
    const hint = stoppedHint(progress);
    return hint === null ? [] : [[id, { hint, barrier }]];
  });
  return new Map((await Promise.all(reasons)).flat());
}
