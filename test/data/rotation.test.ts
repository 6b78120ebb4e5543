import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { masterKeyPath } from '../../src/data/data.ts';
import { rotateMasterKey } from '../../src/data/rotation.ts';
import { createErasures } from '../../src/events/erase.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { createLog } from '../../src/observe/log.ts';
import { createServices } from '../../src/services/services.ts';
import type { Database } from '../../src/store/port/database.ts';
import { endpointReader } from '../../src/webhooks/endpoint-schema.ts';
import { modeOf, open, refusal, startedFolder } from '../support/data-folder.ts';
import { ACTOR } from '../support/services.ts';
import { egressOf, LOOPBACK, loopbackTransport } from '../support/transport.ts';

type Opened = Awaited<ReturnType<typeof open>>;

const ENDPOINT = {
  name: 'shop',
  url: 'https://hooks.example.com/in',
  secret: 'the secret that signs',
  oauth: { clientId: 'us', clientSecret: 'the client secret', tokenUrl: 'https://id.example.com/token' },
};

async function makeEndpoint(t: TestContext, data: Opened): Promise<string> {
  const log = createLog('silent');
  const { endpoints } = createServices({
    ...data,
    egress: egressOf(LOOPBACK),
    transport: loopbackTransport(t, {}),
    log,
    wake: () => undefined,
    erasures: createErasures({ ...data, log }),
  });
  return (await endpoints.create(endpointReader.create(ENDPOINT), ACTOR)).id;
}

function rotate(data: Opened, config: Config, db: Database = data.db): Promise<number> {
  const audit = {
    id: data.ids.uuid(),
    at: data.clock(),
    actor: 'test',
    action: 'master-key.rotate' as const,
    target: 'master-key:1',
    customerId: null,
    changes: {},
  };
  return rotateMasterKey({ ...data, db, path: masterKeyPath(config), audit });
}

async function secretsOf({ store }: Opened, id: string): Promise<unknown[]> {
  const endpoint = await store.endpoints.get(id);
  return [endpoint?.secret.reveal(), endpoint?.oauthClientSecret?.reveal(), endpoint?.apiKey.reveal().length];
}

const SECRETS = [ENDPOINT.secret, ENDPOINT.oauth.clientSecret, 32];

describe('the rotation of the master key', () => {
  it('seals every secret with the new key, so that the old one opens none of them', async (t) => {
    const config = await startedFolder(t);
    const data = await open(t, config);
    const id = await makeEndpoint(t, data);
    const oldKey = readFileSync(masterKeyPath(config), 'utf8');
    const sealedBefore = data.db.connection.prepare('SELECT hex(secret) AS sealed FROM endpoint').get();
    assert.equal(await rotate(data, config), 2);
    await data.close();

    assert.notEqual(readFileSync(masterKeyPath(config), 'utf8'), oldKey);
    assert.equal(modeOf(masterKeyPath(config)), '600');
    assert.equal(existsSync(`${masterKeyPath(config)}.next`), false);
    const again = await open(t, config);
    assert.deepEqual(await secretsOf(again, id), SECRETS);
    assert.notDeepEqual(again.db.connection.prepare('SELECT hex(secret) AS sealed FROM endpoint').get(), sealedBefore);
    assert.equal((await again.store.audit.list(null, 1))[0]?.action, 'master-key.rotate');
    await again.close();

    writeFileSync(masterKeyPath(config), oldKey);
    assert.match(await refusal(config), /master key is not the one/);
  });

  it('also reseals the replies kept for idempotency keys', async (t) => {
    const config = await startedFolder(t);
    const data = await open(t, config);
    const owner = { applicationId: 'a', key: 'k' };
    const reply = { requestHash: '', status: 201, headers: { Location: '/x' }, body: '{"clientSecret":"s"}' };
    await data.db.commit(data.store.keptReplies.keep(owner, reply, { now: 0, expiresAt: 1 }));
    await rotate(data, config);
    await data.close();
    const again = await open(t, config);
    assert.deepEqual(await again.store.keptReplies.find(owner, 0), reply);
    await again.close();
  });

  it('changes nothing if it is interrupted before its commit', async (t) => {
    const config = await startedFolder(t);
    const data = await open(t, config);
    const id = await makeEndpoint(t, data);
    const oldKey = readFileSync(masterKeyPath(config), 'utf8');
    const dying: Database = { ...data.db, commit: () => Promise.reject(new Error('killed')) };
    await assert.rejects(rotate(data, config, dying), /killed/);
    assert.equal(existsSync(`${masterKeyPath(config)}.next`), true);
    await data.close();

    const again = await open(t, config);
    assert.deepEqual(await secretsOf(again, id), SECRETS);
    assert.equal(readFileSync(masterKeyPath(config), 'utf8'), oldKey);
    assert.equal(existsSync(`${masterKeyPath(config)}.next`), false);
  });

  it('is finished by the next start if it is interrupted after its commit', async (t) => {
    const config = await startedFolder(t);
    const data = await open(t, config);
    const id = await makeEndpoint(t, data);
    const oldKey = readFileSync(masterKeyPath(config), 'utf8');
    const dying: Database = {
      ...data.db,
      commit: async (statements) => {
        await data.db.commit(statements);
        throw new Error('killed');
      },
    };
    await assert.rejects(rotate(data, config, dying), /killed/);
    assert.equal(readFileSync(masterKeyPath(config), 'utf8'), oldKey);
    await data.close();

    const again = await open(t, config);
    assert.deepEqual(await secretsOf(again, id), SECRETS);
    assert.notEqual(readFileSync(masterKeyPath(config), 'utf8'), oldKey);
    assert.equal(existsSync(`${masterKeyPath(config)}.next`), false);
  });

  it('changes nothing if a secret cannot be read', async (t) => {
    const config = await startedFolder(t);
    const data = await open(t, config);
    const id = await makeEndpoint(t, data);
    data.db.connection.prepare('UPDATE endpoint SET api_key = ? WHERE id = ?').run(Buffer.from(randomBytes(64)), id);
    const before = data.db.connection.prepare('SELECT * FROM endpoint').all();
    await assert.rejects(rotate(data, config), /endpoint\.api_key/);
    assert.deepEqual(data.db.connection.prepare('SELECT * FROM endpoint').all(), before);
  });
});
