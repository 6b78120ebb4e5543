/** Data folders with histories of several sizes, and the service on each. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { DATABASE_FILE } from '../../../src/data/data-folder.ts';
import type { Certificates } from '../../../test/support/tls.ts';
import type { Receiver } from '../receiver-process.ts';
import { eventType, makeWebhooks, receiverSettings } from './deliveries.ts';
import { addHistory, copyFolder, type HistoryParts, SPACING_MS } from './history.ts';
import { type Credentials, createEmployee, type Service, startService } from './service.ts';

export type History = {
  readonly rows: number;
  readonly dataDir: string;
  readonly credentials: Credentials;
  readonly parts: HistoryParts & { readonly historyWebhookId: string };
  readonly employeePath: string;
  /** Of an application that may read employees. */
  readonly tokens: readonly string[];
  /** When the first event of the history happened. */
  readonly startedAt: number;
};

/** A folder with a service on it. */
export type Used = {
  readonly history: History;
  readonly service: Service;
  readonly adminToken: string;
  readonly employeePath: string;
  /** Events of this type go into the log that has the history; of the other into that of a stopped webhook. */
  readonly historyType: string;
  readonly waitingType: string;
  /** Records of the log with the history that are not delivered yet. */
  pending(): number;
};

type Surroundings = { readonly receiver: Receiver; readonly certificates: Certificates };

const [HISTORY, WAITING, STUCK] = [0, 1, 7];
const DAY_MS = 86_400_000;

/** One folder for each size, in ascending order. */
export async function makeHistories(
  folder: string,
  sizes: readonly number[],
  { receiver, certificates }: Surroundings,
): Promise<History[]> {
  const growing = join(folder, 'growing');
  const service = await startService({ dataDir: growing, env: receiverSettings(`${growing}.ca.pem`, certificates) });
  const webhooks = await makeWebhooks(service, { receiver, batchRecords: 1 });
  const { path: employeePath, applicationId } = await createEmployee(service);
  await service.stop();
  const database = new BetterSqlite3(join(growing, DATABASE_FILE), { readonly: true });
  const number = (n: number): number =>
    Number(database.prepare('SELECT number FROM webhook WHERE id = ?').pluck().get(webhooks[n]));
  const parts = {
    historyWebhook: number(HISTORY),
    stuckWebhook: number(STUCK),
    historyWebhookId: webhooks[HISTORY] ?? '',
    applicationId,
    scope: 'employees:view',
  };
  database.close();
  const now = Date.now();
  let tokens: readonly string[] = [];
  return sizes.map((rows, at) => {
    const made = addHistory(growing, parts, sizes[at - 1] ?? 0, rows, now);
    if (made.length > 0) tokens = made;
    const dataDir = join(folder, `rows-${rows}`);
    if (at === sizes.length - 1) renameSync(growing, dataDir);
    else copyFolder(growing, dataDir);
    return { rows, dataDir, credentials: service.credentials, parts, employeePath, tokens, startedAt: now - DAY_MS };
  });
}

/** When the event of a record happened. */
export function createdAtOf({ startedAt }: History, offset: number): number {
  return startedAt + offset * SPACING_MS;
}

export async function openHistory(history: History, certificates: Certificates): Promise<Used> {
  const { dataDir, credentials, employeePath, parts } = history;
  const env = receiverSettings(`${dataDir}.ca.pem`, certificates);
  const service = await startService({ dataDir, credentials, env });
  const database = new BetterSqlite3(join(dataDir, DATABASE_FILE), { readonly: true });
  const pending = database
    .prepare('SELECT waiting_records + pending_records FROM webhook_status WHERE webhook_number = ?')
    .pluck();
  return {
    history,
    employeePath,
    historyType: eventType(HISTORY),
    waitingType: eventType(WAITING),
    service: {
      ...service,
      stop: async () => {
        database.close();
        await service.stop();
      },
    },
    adminToken: service.adminToken,
    pending: () => Number(pending.get(parts.historyWebhook)),
  };
}
