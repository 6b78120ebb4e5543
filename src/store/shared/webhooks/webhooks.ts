/** Webhooks (`webhook`, `subscription`) and their progress (`webhook_progress`, `webhook_position`). */

import type { EventFilter } from '../../../domain/filter.ts';
import { DEPENDENTS_NAMED } from '../../../domain/limits.ts';
import type {
  CustomHeader,
  Progress,
  SignatureTemplate,
  StateChange,
  Webhook,
  WebhookConfiguration,
  WebhookMode,
  WebhookOrder,
  WebhookState,
} from '../../../domain/webhook.ts';
import type { WebhookFormat } from '../../../domain/webhook-format.ts';
import { webhookNumbersIn } from '../../../kernel/ids.ts';
import type { Database, Row, SqlValue, Statement } from '../../port/database.ts';
import type { NewWebhook, WebhookStore } from '../../port/webhooks.ts';
import { auditStatement } from '../audit.ts';
import { changedSql, RUNNABLE_STATES } from '../changes.ts';
import { limitStatements } from '../customer-limits.ts';
import { resume, resumeStatement } from '../delivery/resume.ts';
import { publishStatements } from '../events.ts';
import { categoryPattern, judgedChanges } from '../judging.ts';
import { type ListColumns, pageOf, resourceStore } from '../resource.ts';
import {
  type Codec,
  customer,
  flag,
  json,
  number,
  numberOrNull,
  oneOf,
  requireActive,
  type Table,
  table,
  text,
  textOrNull,
  unchanged,
} from '../table.ts';
import { type ChangedSettings, changedSettingsStatements, resumeMoved } from './changed-settings.ts';

/**
 * The first of `@numbers` that no webhook has or had, or else the one after the largest. Numbers are random, because the ids of deliveries
 * contain them: a customer could count the webhooks of others (contract §8.3).
 */
const FREE_NUMBER = `coalesce(
  (SELECT drawn.value FROM numbers(@numbers) AS drawn
   WHERE NOT EXISTS (SELECT 1 FROM webhook AS w WHERE w.number = drawn.value)
     AND NOT EXISTS (SELECT 1 FROM removed_webhook AS r WHERE r.number = drawn.value) LIMIT 1),
  (SELECT max(used.number) + 1 FROM (SELECT number FROM webhook UNION ALL SELECT number FROM removed_webhook) AS used), 1)`;

const order: Codec<WebhookOrder> = {
  write: (value) => (value === 'key' ? value : value ? 'webhook' : 'none'),
  read: (value) => (value === 'key' ? value : value === 'webhook'),
};

export const WEBHOOK: Table<WebhookConfiguration> = table<WebhookConfiguration>(
  'webhook',
  'id',
  {
    id: text,
    customerId: customer,
    name: text,
    mode: oneOf<WebhookMode>(),
    endpointId: textOrNull,
    format: oneOf<WebhookFormat>(),
    batch: flag,
    thin: flag,
    eventTypes: json<readonly string[]>(),
    filter: json<EventFilter | null>(),
    customHeaders: json<readonly CustomHeader[]>(),
    encryptionKeyName: textOrNull,
    ordered: order,
    maxBatchRecords: number,
    maxRecordsPerSecond: numberOrNull,
    retryPolicy: oneOf<WebhookConfiguration['retryPolicy']>(),
    maxAttempts: number,
    retryDelaysSeconds: json<readonly number[] | null>(),
    standardWebhooks: flag,
    signature: json<SignatureTemplate | null>(),
    heartbeatSeconds: number,
    timeoutSeconds: number,
    createdAt: number,
    updatedAt: number,
  },
  {},
  { column: 'number', sql: FREE_NUMBER, params: ({ id }) => ({ numbers: JSON.stringify(webhookNumbersIn(id)) }) },
);

/** From the view `webhook_status`. */
export const PROGRESS: Table<Progress> = table<Progress>('webhook_status', 'webhookNumber', {
  webhookNumber: number,
  state: oneOf<WebhookState>(),
  stateReason: textOrNull,
  stateDetail: textOrNull,
  stateAt: number,
  sessionId: textOrNull,
  sessionAt: numberOrNull,
  nextOffset: number,
  cursorOffset: number,
  sentAt: numberOrNull,
  failingSinceAt: numberOrNull,
  failureStreak: number,
  probeAt: numberOrNull,
  deadStreak: number,
});

/**
 * Undoes the transaction with `StaleWrite` if a webhook of the customer runs, or would start with its endpoint. It ends a suspension: a
 * webhook that started after the caller had read the customer's webhooks must stop too.
 */
export function noneRuns(customerId: string): Statement {
  return { sql: NONE_RUNS, params: { customerId }, expectChanges: 1 };
}

const NONE_RUNS = `
  SELECT 1 FROM customer WHERE id = @customerId AND NOT EXISTS (
    SELECT 1 FROM webhook AS w JOIN webhook_progress AS p ON p.webhook_number = w.number
    WHERE w.customer_id = @customerId
      AND (p.state IN (${RUNNABLE_STATES}) OR (p.state = 'stopped' AND p.state_reason = 'endpoint_disabled')))`;

/** With problems, of `p`: failing, failed, or stopped by something else than people. */
export const TROUBLED = `(p.state IN ('failing', 'failed') OR (p.state = 'stopped'
      AND p.state_reason NOT IN ('stopped_by_administrator', 'customer_inactive')))`;

const SELECT = `
  SELECT ${WEBHOOK.columns('w')}, ${PROGRESS.columns('p')}
  FROM webhook AS w JOIN webhook_status AS p ON p.webhook_number = w.number`;
const GET = `${SELECT} WHERE w.id = @id`;
// Indexes: webhook_endpoint and the primary key of subscription. There are thousands of webhooks at most, so other filters and sorts scan
// them.
const LIST: ListColumns = {
  id: 'w.id',
  filters: {
    customerId: 'w.customer_id = @customerId',
    endpointId: 'w.endpoint_id = @endpointId',
    mode: 'w.mode = @mode',
    state: 'p.state = @state',
    eventType:
      'EXISTS (SELECT 1 FROM subscription AS s WHERE s.pattern = @eventType AND s.customer_id = w.customer_id ' +
      'AND s.webhook_number = w.number)',
  },
  sorts: { name: 'lower(w.name)' },
};
const OF_ENDPOINT = `${SELECT} WHERE w.endpoint_id = @endpointId ORDER BY w.id LIMIT ${DEPENDENTS_NAMED}`;
const STANDARD_OF_ENDPOINT = `
  ${SELECT} WHERE w.endpoint_id = @endpointId AND (w.standard_webhooks OR w.format = 'standard') ORDER BY w.number LIMIT 1`;
/** Every write of a webhook locks its endpoint first, so what this reads after the endpoint was locked cannot change. */
export const VERSION_AT_ENDPOINT = `
  SELECT count(*) || ' ' || coalesce(max(updated_at), 0) AS version FROM webhook WHERE endpoint_id = @endpointId`;
const STOPPED_WITH_ENDPOINT = `
  ${SELECT} WHERE w.endpoint_id = @endpointId AND p.state = 'stopped' AND p.state_reason = 'endpoint_disabled' ORDER BY w.id`;
const OF_KEY = `${SELECT} WHERE w.customer_id = @customerId AND w.encryption_key_name = @name ORDER BY w.id LIMIT ${DEPENDENTS_NAMED}`;
const OF_PATTERN = `${SELECT} WHERE w.number IN (SELECT webhook_number FROM subscription WHERE pattern = @pattern)
  ORDER BY w.id LIMIT ${DEPENDENTS_NAMED}`;

// A record that waits, also one whose attempt is running, is due unless the first pending batch of an ordered webhook holds it up.
const NOTHING_DUE = `
  CASE WHEN w.ordered = 'webhook' AND EXISTS (SELECT 1 FROM batch AS b WHERE b.webhook_number = w.number AND b.state = 'pending')
    THEN (
      SELECT b.next_attempt_at FROM batch AS b INDEXED BY batch_pending
      WHERE b.webhook_number = w.number AND b.state = 'pending' ORDER BY b.first_offset LIMIT 1) > @quietUntil
    ELSE p.waiting_records = 0 AND NOT EXISTS (
      SELECT 1 FROM batch AS b INDEXED BY batch_due
      WHERE b.webhook_number = w.number AND b.state = 'pending' AND b.next_attempt_at <= @quietUntil) END
  AND (w.heartbeat_seconds = 0 OR p.sent_at + w.heartbeat_seconds * 1000 > @quietUntil)`;
// No index by state, because there are few webhooks. No attempt is made before `probe_at`.
const FAILING_SINCE = `
  ${SELECT} WHERE p.state = 'failing' AND p.failing_since_at <= @since AND (p.probe_at > @quietUntil OR (${NOTHING_DUE}))
  ORDER BY p.failing_since_at LIMIT @limit`;

const unencrypted = (condition: string): string => `${SELECT}
  WHERE w.encryption_key_name IS NULL ${condition}
    AND w.number IN (SELECT webhook_number FROM subscription WHERE pattern IN (@type, @category, '*'))
  ORDER BY w.id LIMIT ${DEPENDENTS_NAMED}`;
const UNENCRYPTED = unencrypted('');
const UNENCRYPTED_OF_OPERATOR = unencrypted("AND w.customer_id = ''");

const BEGIN_PROGRESS = `
  INSERT INTO webhook_progress
    (webhook_number, pulled, state, state_reason, state_at, session_id, session_at, failure_streak, dead_streak)
  SELECT number, mode = 'pull', @state, @stateReason, created_at, @sessionId, @sessionAt, 0, 0 FROM webhook WHERE id = @id`;
const BEGIN_POSITION = 'INSERT INTO webhook_position (webhook_number) SELECT number FROM webhook WHERE id = @id';
const UNSUBSCRIBE = 'DELETE FROM subscription WHERE webhook_number = (SELECT number FROM webhook WHERE id = @id)';
const SUBSCRIBE = `
  INSERT INTO subscription (pattern, customer_id, webhook_number, filtered)
  SELECT pattern.value, w.customer_id, w.number, w.filter IS NOT NULL FROM webhook AS w, texts(w.event_types) AS pattern WHERE w.id = @id`;
// Housekeeping deletes the log in steps, because it may be of any size.
const REMEMBER_NUMBER = 'INSERT INTO removed_webhook (number) SELECT number FROM webhook WHERE id = @id';
// The endpoint must still be disabled. A webhook that stopped after its endpoint was enabled would not start with it.
const STILL_DISABLED = 'UPDATE endpoint SET enabled = enabled WHERE id = @endpointId AND NOT enabled';
const SET_STATE = `
  UPDATE webhook_progress
  SET state = @state, state_reason = @stateReason, state_detail = @stateDetail, state_at = @stateAt,
      session_id = @sessionId, session_at = @sessionAt, failing_since_at = @failingSinceAt,
      failure_streak = @failureStreak, probe_at = @probeAt, dead_streak = @deadStreak
  WHERE webhook_number = @webhookNumber AND state = @stateBefore`;
const FORGET_SENT =
  'UPDATE webhook_position SET sent_at = NULL WHERE webhook_number = @webhookNumber AND sent_at IS NOT NULL';
const STARTED = changedSql('@webhookNumber');

/** The statements of state changes, for the transaction of their cause. Their events are judged first. */
export async function stateStatements(db: Database, changes: readonly StateChange[]): Promise<Statement[]> {
  return (await judgedChanges(db, changes)).flatMap(judgedStatements);
}

function isStart({ progress: { state }, stateBefore }: StateChange): boolean {
  return state === 'started' && stateBefore !== state;
}

function judgedStatements(change: StateChange): Statement[] {
  const { progress, stateBefore, event } = change;
  const { nextOffset, cursorOffset, sentAt, ...written } = progress;
  const published = event === null ? [] : publishStatements(event);
  const { webhookNumber, stateAt } = progress;
  const started = [
    resumeStatement(webhookNumber, stateAt),
    { sql: FORGET_SENT, params: { webhookNumber } },
    { sql: STARTED, params: { webhookNumber } },
  ];
  return [
    { sql: SET_STATE, params: { ...written, stateBefore }, expectChanges: 1 },
    ...(isStart(change) ? started : []),
    ...published,
  ];
}

export function webhookStore(db: Database): WebhookStore {
  const many = async (sql: string, params: Readonly<Record<string, SqlValue>>): Promise<Webhook[]> =>
    (await db.all(sql, params)).map(readWebhook);
  const store = resourceStore<NewWebhook>(db, 'webhook', WEBHOOK, {
    // One that starts at its creation: its customer may be suspended at the same moment.
    beforeInsert: ({ customerId, progress }) => [
      ...(progress?.state === 'started' ? requireActive(customerId) : []),
      ...limitStatements('webhook', customerId),
    ],
    onInsert: ({ id, progress }) => [
      { sql: BEGIN_PROGRESS, params: { id, ...begun(progress) } },
      { sql: BEGIN_POSITION, params: { id } },
      { sql: SUBSCRIBE, params: { id } },
    ],
    onUpdate: (webhook, before) => [
      { sql: UNSUBSCRIBE, params: { id: webhook.id } },
      { sql: SUBSCRIBE, params: { id: webhook.id } },
      ...changedSettingsStatements(changeOf(webhook, before)),
    ],
    beforeRemove: (id) => [{ sql: REMEMBER_NUMBER, params: { id } }],
  });
  return {
    get: async (id) => (await many(GET, { id }))[0] ?? null,
    list: (after, limit, filter = {}) => {
      const { sql, params } = pageOf(LIST, { after, limit, filter });
      return many(`${SELECT} ${sql}`, params);
    },
    ofEndpoint: (endpointId) => many(OF_ENDPOINT, { endpointId }),
    standardOfEndpoint: (endpointId) => many(STANDARD_OF_ENDPOINT, { endpointId }),
    versionAt: async (endpointId) => String((await db.get(VERSION_AT_ENDPOINT, { endpointId }))?.version),
    ofKey: (customerId, name) => many(OF_KEY, { customerId: customer.write(customerId, ''), name }),
    stoppedWithEndpoint: (endpointId) => many(STOPPED_WITH_ENDPOINT, { endpointId }),
    ofPattern: (pattern) => many(OF_PATTERN, { pattern }),
    unencryptedOf: ({ name: type, public: isPublic }) =>
      many(isPublic ? UNENCRYPTED : UNENCRYPTED_OF_OPERATOR, { type, category: categoryPattern(type) }),
    failingSince: (span, limit) => many(FAILING_SINCE, { ...span, limit }),
    insert: store.insert,
    update: async (webhook, before, audit, first) => {
      await store.update(webhook, before, audit, first);
      await resumeMoved(db, changeOf(webhook, before));
    },
    remove: store.remove,
    setState: async (change, audit, configuration) => {
      const isActive = configuration !== undefined && isStart(change) ? requireActive(configuration.customerId) : [];
      const guards = configuration === undefined ? [] : [...isActive, unchanged('webhook', configuration)];
      await db.commit([...guards, ...(await stateStatements(db, [change])), auditStatement(audit)]);
    },
    stopWithEndpoint: async (change, audit, endpointId) => {
      const guard = { sql: STILL_DISABLED, params: { endpointId }, expectChanges: 1 };
      await db.commit([guard, ...(await stateStatements(db, [change])), auditStatement(audit)]);
    },
    resume: (webhookNumber, now) => resume(db, webhookNumber, now),
  };
}

type Begun = Pick<Progress, 'state' | 'stateReason' | 'sessionId' | 'sessionAt'>;

const NOT_BEGUN: Begun = { state: 'stopped', stateReason: null, sessionId: null, sessionAt: null };

function begun({ state, stateReason, sessionId, sessionAt }: Begun = NOT_BEGUN): Begun {
  return { state, stateReason, sessionId, sessionAt };
}

function changeOf(
  { id, endpointId, ordered, updatedAt: at }: WebhookConfiguration,
  before: WebhookConfiguration,
): ChangedSettings {
  // What waits for its key waits no longer.
  const isFreed = before.ordered === 'key' && ordered !== 'key';
  return { of: 'webhook', id, at, isMoved: endpointId !== before.endpointId || isFreed };
}

export function readWebhook(row: Row): Webhook {
  return { ...WEBHOOK.read(row), progress: PROGRESS.read(row) };
}
