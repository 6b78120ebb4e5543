/** Registers the development receiver as an endpoint with a webhook, for `sallyport listen --register`. */

import { announceReceiver } from '../../data/announcements.ts';
import { lockFolder } from '../../data/folder-lock.ts';
import { COMMAND_LINE } from '../../domain/acting.ts';
import { eventTypeReader } from '../../events/event-types.ts';
import type { Composed } from '../../services/compose.ts';
import { endpointReader } from '../../webhooks/endpoint-schema.ts';
import { webhookReader } from '../../webhooks/webhook-schema.ts';
import type { Invocation } from '../command.ts';
import { withData } from '../open.ts';

const NAME = 'listen';

type Receiving = {
  readonly port: number;
  readonly url: string;
  /** In PEM. */
  readonly certificate: string;
  readonly secret: string;
  readonly apiKey: string;
  /** Names of event types, `<category>.*` or `*`. */
  readonly patterns: readonly string[];
};

export type Registration = {
  readonly endpointId: string;
  readonly webhookId: string;
  /** The event types that were created. */
  readonly created: readonly string[];
  /** Whether a server uses the data folder. */
  readonly isServed: boolean;
  /** Stops the webhook and ends the announcement. The webhook keeps its records. */
  end(): Promise<void>;
};

/**
 * Creates the endpoint and the webhook `listen`, or takes over those of an earlier call, creates missing event types, starts the webhook,
 * and announces the receiver to the server of the data folder. Throws a `Refusal`, such as for employee events, which must be encrypted.
 */
export async function register(invocation: Invocation, receiving: Receiving): Promise<Registration> {
  const { dataDir } = await invocation.config();
  const announced = announceReceiver(dataDir, receiving.port, receiving.certificate);
  const made = await withData(invocation, async (composed) => {
    const created = await createMissingTypes(composed, receiving.patterns);
    const endpointId = await endpointFor(composed, receiving);
    return { created, endpointId, webhookId: await startWebhook(composed, endpointId, receiving.patterns) };
  }).catch((error: unknown) => {
    announced.end();
    throw error;
  });
  return {
    ...made,
    isServed: isServed(dataDir),
    end: async () => {
      announced.end();
      await withData(invocation, ({ services: { webhooks } }) => webhooks.stop(made.webhookId, COMMAND_LINE));
    },
  };
}

async function createMissingTypes({ services, store }: Composed, patterns: readonly string[]): Promise<string[]> {
  const created: string[] = [];
  for (const name of patterns) {
    if (name.endsWith('*') || (await store.eventTypes.getByName(name)) !== null) continue;
    await services.eventTypes.create(eventTypeReader.create({ name }), COMMAND_LINE);
    created.push(name);
  }
  return created;
}

async function endpointFor({ services }: Composed, { url, secret, apiKey }: Receiving): Promise<string> {
  const { endpoints } = services;
  const [known] = await endpoints.list('', 1, { name: NAME, url });
  if (known === undefined) {
    const body = endpointReader.create({ name: NAME, url, secret, apiKey });
    return (await endpoints.create(body, COMMAND_LINE)).id;
  }
  await endpoints.rotateSecret(known.id, { secret, overlapSeconds: 0, activateAfterSeconds: 0 }, COMMAND_LINE);
  await endpoints.rotateApiKey(known.id, { apiKey, activateAfterSeconds: 0 }, COMMAND_LINE);
  if (!known.enabled) await endpoints.patch(known.id, endpointReader.patch({ enabled: true }), COMMAND_LINE);
  return known.id;
}

async function startWebhook(
  { services: { webhooks } }: Composed,
  endpointId: string,
  patterns: readonly string[],
): Promise<string> {
  const eventTypes = [...patterns];
  const known = (await webhooks.list('', 100, { endpointId })).find(({ name }) => name === NAME);
  const { id } =
    known === undefined
      ? await webhooks.create(
          webhookReader.create({ name: NAME, endpointId, eventTypes, heartbeatSeconds: 0 }),
          COMMAND_LINE,
        )
      : await webhooks.patch(known.id, webhookReader.patch({ eventTypes }), COMMAND_LINE);
  await webhooks.start(id, COMMAND_LINE);
  return id;
}

/** Whether another process has the lock of the folder, as a server does. */
function isServed(dataDir: string): boolean {
  const lock = lockFolder(dataDir);
  lock?.release();
  return lock === null;
}
