/** A version works beside the next one, whose migration changes the tables that it uses all the time. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { completeConfig } from '../../src/config/config.ts';
import { masterKeyPath } from '../../src/data/data.ts';
import { migrateDatabase, openDatabase } from '../../src/data/postgres.ts';
import { SCHEMA_VERSION, type SchemaHistory } from '../../src/store/postgres/schema.ts';
import { cleanUp } from '../support/cleanup.ts';
import { messageIds, TYPE, until } from '../support/dispatching.ts';
import { newEvent } from '../support/events.ts';
import { onInstances } from '../support/instances.ts';
import { connect, makeEventType, publish, startJourney } from '../support/journey.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';
import { databaseUrlOf, startService } from '../support/service.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

const NEXT: SchemaHistory = {
  version: SCHEMA_VERSION + 1,
  steps: [
    {
      version: SCHEMA_VERSION + 1,
      oldestProgram: SCHEMA_VERSION,
      sql: `
        ALTER TABLE event ADD COLUMN region_id text; CREATE INDEX event_region ON event (region_id);
        ALTER TABLE webhook ADD COLUMN region_id text; ALTER TABLE webhook_progress ADD COLUMN note text;
        ALTER TABLE batch ADD COLUMN note text; ALTER TABLE attempt ADD COLUMN note text; ALTER TABLE outbox ADD COLUMN note text;
        ALTER TABLE access_token ADD COLUMN note text; ALTER TABLE application ADD COLUMN note text`,
    },
  ],
};

describe('a rolling upgrade', () => {
  onInstances('loses and refuses nothing while the schema is migrated under load', async (t) => {
    const { service, admin, receiver } = await startJourney(t);
    await makeEventType(admin, TYPE);
    const { at } = await connect({ admin, receiver }, [TYPE]);
    const published: string[] = [];
    let isOver = false;
    const publishing = (async () => {
      while (!isOver) published.push(...(await publish(admin, TYPE, { n: published.length })));
    })();
    const publishMore = async (): Promise<void> => {
      const wanted = published.length + 20;
      await until('more events', () => published.length >= wanted);
    };
    await publishMore();

    const databaseUrl = databaseUrlOf(service.dataDir) ?? undefined;
    const config = completeConfig({ dataDir: service.dataDir, databaseUrl });
    assert.deepEqual(await migrateDatabase(config, Date.now(), { history: NEXT }), {
      from: SCHEMA_VERSION,
      to: SCHEMA_VERSION + 1,
    });
    await publishMore();

    // The next version, on the same database and master key.
    const next = await openDatabase(
      { ...config, masterKeyFile: masterKeyPath(config) },
      { exclusive: true, history: NEXT },
    );
    cleanUp(t, () => next.close());
    const event = newEvent(next as unknown as Parameters<typeof newEvent>[0], TYPE);
    await next.store.events.publish([event]);
    published.push(event.id);
    await publishMore();

    // The version before can still be started, for example because the upgrade is taken back.
    const again = await startService(t, { after: service });
    published.push(...(await publish(again.admin, TYPE, { n: -1 })));
    await publishMore();
    isOver = true;
    await publishing;
    await until('all deliveries', () => new Set(messageIds(at)).size === new Set(published).size);
    assert.deepEqual([...new Set(messageIds(at))].sort(), published.toSorted());
  });
});
