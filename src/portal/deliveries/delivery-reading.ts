/** Reads a delivery for its page and for the panel beside the list. */
import type { Endpoint } from '../../domain/endpoint.ts';
import type { Delivery, Webhook, WebhookState } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import type { DeliveryContent, FailureGroup } from '../../store/port/deliveries.ts';
import type { Store } from '../../store/port/store.ts';
import { type NumberedAttempt, numbered, type Resend, replayEntries, resendsOf } from '../../webhooks/sent-again.ts';
import { actorsSeen, readResourceLinks } from '../audit/entries.ts';
import type { PageCall } from '../frame/call.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { STATES_READ } from '../parts/limits.ts';
import { readCausesOf } from '../record/causes.ts';
import { EVENTS_PATH } from '../record/events-path.ts';
import { ownerNames, ownHint, readIsOwn } from '../record/owner.ts';
import { readFailsSince } from '../record/webhook-state.ts';
import { type NamedResend, type Standing, WAIT_TOLD_MS } from './delivery-story.ts';

/** A delivery with all that its page tells. */
export type Story = Pick<Standing, 'base' | 'ahead' | 'causes' | 'deadDays'> & {
  /** How many deliveries are sent before it, while it waits for its turn; null: it is not known. */
  readonly before: number | null;
  /** When its webhook began to fail and last succeeded, while it waits for its turn; null: it is not known. */
  readonly failsSince: number | null;
  readonly succeededAt: number | null;
  readonly delivery: Delivery;
  readonly attempts: readonly NumberedAttempt[];
  readonly resends: readonly NamedResend[];
  /** The state of the webhook at the publication, if the delivery waited long for its first attempt. */
  readonly stateThen: WebhookState | null;
  readonly content: DeliveryContent;
  readonly webhook: Webhook;
  /** Null in mode `pull`. */
  readonly endpoint: Endpoint | null;
  /** Whose it is, in the operator's portal with customers. */
  readonly owner: Html | null;
  /** The page of its event, in the operator's portal; null if the event is not kept any more. */
  readonly eventPage: string | null;
};

/** Throws 404 for an unknown delivery. */
export async function readStory(dependencies: SharedPageDependencies, call: PageCall, id: string): Promise<Story> {
  const { services, store } = dependencies;
  const { delivery, attempts: found } = await services.deliveries.get(id);
  const [content, webhook, entries] = await Promise.all([
    services.deliveries.content(id),
    services.webhooks.get(delivery.webhookId),
    replayEntries(store, delivery),
  ]);
  const { endpointId } = webhook;
  const resends = resendsOf(delivery, found, entries);
  const { attempts, base } = numbered(found, resends);
  return {
    delivery,
    attempts,
    base,
    stateThen: await stateWhenPublished(dependencies, delivery, attempts[0]),
    content,
    webhook,
    resends: await named(dependencies, call, resends),
    ...(await placeOf(dependencies, delivery, webhook)),
    endpoint: endpointId === null ? null : await services.endpoints.get(endpointId),
    deadDays: dependencies.kept.deadDays,
    owner: (await readIsOwn(store, delivery)) ? ownHint() : (await ownerNames(store, [delivery]))(delivery.customerId),
    eventPage: await eventPageOf(store, delivery.eventId),
  };
}

async function eventPageOf({ customerId, events }: Store, eventId: string): Promise<string | null> {
  return customerId === null && (await events.find(eventId)) !== null ? `${EVENTS_PATH}/${eventId}` : null;
}

/** Whether it was not tried since it was published or sent again, and is not being tried now. */
export function waitsForTurn({ state, nextAttemptAt, isLeased, webhookMode }: Delivery): boolean {
  return state === 'pending' && nextAttemptAt === null && !isLeased && webhookMode === 'push';
}

type Place = Pick<Story, 'ahead' | 'before' | 'failsSince' | 'succeededAt' | 'causes'>;

const NOT_FAILING = { failsSince: null, succeededAt: null, causes: [] };

/** Reads the deliveries that are sent before one that waits for its turn. */
async function placeOf({ store }: SharedPageDependencies, delivery: Delivery, webhook: Webhook): Promise<Place> {
  const { offset, state, attemptCount } = delivery;
  const { id, progress } = webhook;
  const { webhookNumber } = progress;
  // Sent again, it is due, but has no error of its own yet.
  const isUntried = state === 'pending' && attemptCount === 0 && progress.state === 'failed';
  const failedFor = isUntried ? (await readCausesOf(store, [webhookNumber]))(id) : [];
  if (!waitsForTurn(delivery)) return { ahead: null, before: null, ...NOT_FAILING, causes: failedFor };
  const listing = webhook.ordered === 'key' ? null : await store.directory.webhook(webhook.id);
  // The untried ones are sent in the order of the log, so it and all behind it wait.
  const before = listing === null ? null : listing.pendingRecords - (listing.webhook.progress.nextOffset - offset);
  if (progress.state === 'failed') return { ahead: null, before, ...NOT_FAILING, causes: failedFor };
  if (progress.state !== 'failing') return { ahead: await aheadOf(store, offset, webhook, []), before, ...NOT_FAILING };
  const [failsSince, outcomes, causesOf] = await Promise.all([
    readFailsSince(store, { id, ...progress }),
    store.attempts.lastOutcomes([webhookNumber]),
    readCausesOf(store, [webhookNumber]),
  ]);
  const causes = causesOf(id);
  const ahead = await aheadOf(store, offset, webhook, causes);
  const succeededAt = outcomes.get(webhookNumber)?.deliveredAt ?? null;
  return { ahead, before, failsSince, succeededAt, causes };
}

async function aheadOf(
  { deliveries }: Store,
  offset: number,
  { ordered, progress: { state, webhookNumber, cursorOffset } }: Webhook,
  causes: readonly FailureGroup[],
): Promise<Delivery | null> {
  const waitingAt = async (at: number): Promise<Delivery | null> => {
    const found = await deliveries.at(webhookNumber, at);
    return found?.state === 'pending' && found.offset < offset ? found : null;
  };
  // A record that was not tried yet waits for the pending record before the cursor.
  if (ordered === true) return waitingAt(cursorOffset - 1);
  if (state !== 'failing') return null;
  // Records with an attempt go first when they are due, then the untried ones in order.
  const oldest = causes.filter(({ retrying }) => retrying > 0).map((group) => group.oldest.offset);
  for (const at of [...oldest.toSorted((a, b) => a - b), cursorOffset]) {
    const delivery = await waitingAt(at);
    if (delivery !== null) return delivery;
  }
  return null;
}

async function stateWhenPublished(
  { store }: SharedPageDependencies,
  { webhookId, createdAt }: Delivery,
  first: NumberedAttempt | undefined,
): Promise<WebhookState | null> {
  if (first === undefined || first.startedAt - createdAt < WAIT_TOLD_MS) return null;
  const history = await store.stateHistory.ofWebhook(webhookId, STATES_READ);
  return history.find(({ at }) => at <= createdAt)?.state ?? null;
}

/** With the names of the actors, as the reader may know them. */
async function named(
  { store, hasPage }: SharedPageDependencies,
  { brand }: PageCall,
  resends: readonly Resend[],
): Promise<NamedResend[]> {
  const actors = resends.flatMap(({ actor }) => actor ?? []);
  if (actors.length === 0) return resends.map(({ actor: _, ...resend }) => ({ ...resend, by: null }));
  const seen = actorsSeen(store, await readResourceLinks(store, actors, hasPage), brand);
  return Promise.all(
    resends.map(async ({ actor, ...resend }) => {
      if (actor === null) return { ...resend, by: null };
      const { name, href } = seen(actor);
      const [kind, id = ''] = actor.split(':');
      const shown = (kind === 'user' ? (await store.users.get(id))?.displayName : null) ?? name;
      return { ...resend, by: href === null ? html`${shown}` : html`<a href="${href}">${shown}</a>` };
    }),
  );
}

/** Differs whenever the page would show something else. */
export function storyVersion(
  { delivery, attempts, resends, ahead, before, failsSince, succeededAt, causes, content, webhook, endpoint }: Story,
  now: number,
): string {
  const { maxAttempts, progress } = webhook;
  const isDue = delivery.nextAttemptAt !== null && delivery.nextAttemptAt <= now;
  const told = [delivery, isDue, attempts.map(({ id }) => id), resends.length];
  const turn = [
    ahead?.id,
    ahead?.nextAttemptAt,
    before,
    failsSince,
    succeededAt,
    causes,
    progress.stateReason,
    progress.failingSinceAt,
  ];
  return JSON.stringify([
    ...told,
    ...turn,
    content.erasedAt,
    maxAttempts,
    progress.state,
    endpoint?.name,
    endpoint?.url,
  ]);
}
