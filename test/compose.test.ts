import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { type Config, readConfig } from '../src/config/config.ts';
import { COMMAND_LINE } from '../src/domain/acting.ts';
import { matchRule } from '../src/domain/catalogue.ts';
import { readEvents } from '../src/events/event-input.ts';
import { eventTypeReader } from '../src/events/event-types.ts';
import { createLog } from '../src/observe/log.ts';
import { type Composed, type ComposeOptions, compose } from '../src/services/compose.ts';
import { cleanUp } from './support/cleanup.ts';
import { unusedFolder } from './support/command.ts';

const SERVER: ComposeOptions = { exclusive: true, log: createLog('silent') };
const COMMAND: ComposeOptions = { exclusive: false, log: createLog('silent') };

async function composed(t: TestContext, config: Config, options: ComposeOptions): Promise<Composed> {
  const opened = await compose(config, options);
  cleanUp(t, () => opened.close());
  return opened;
}

function newConfig(t: TestContext): Config {
  return { ...readConfig({}), dataDir: unusedFolder(t) };
}

test('a server has the first credentials until they were shown, a command next to it never', async (t) => {
  const config = newConfig(t);
  const server = await compose(config, SERVER);
  const { firstCredentials } = server;
  assert.equal(firstCredentials?.dataDir, config.dataDir);
  assert.equal((await composed(t, config, COMMAND)).firstCredentials, null);
  await server.close();

  const next = await compose(config, SERVER);
  assert.deepEqual(next.firstCredentials, firstCredentials);
  await next.credentialsShown();
  await next.close();
  assert.equal((await composed(t, config, SERVER)).firstCredentials, null);
});

test('changes that create work notify the listener', async (t) => {
  const { services, onWork, wake } = await composed(t, newConfig(t), SERVER);
  let told = 0;
  // Nothing listens yet.
  wake();
  const recalled: string[] = [];
  onWork({
    wake: () => {
      told += 1;
    },
    recall: (subject) => recalled.push(subject),
  });
  assert.equal(told, 0);
  await services.eventTypes.create(eventTypeReader.create({ name: 'order.placed' }), COMMAND_LINE);
  assert.equal(told, 0);
  await services.publish(readEvents('{"type":"order.placed","data":{}}'), COMMAND_LINE);
  assert.equal(told, 1);
  wake();
  assert.equal(told, 2);
  await services.erasures.erase({ subject: 'jane' }, COMMAND_LINE);
  assert.deepEqual(recalled, ['jane']);
});

test('the catalogue is loaded at the start', async (t) => {
  const { services } = await composed(t, newConfig(t), SERVER);
  const path = '/services/api/x/users/v1/employees';
  const rule = matchRule(services.products.compiled(), 'GET', path.split('/').slice(1));
  assert.equal(rule?.scope, 'employees:view');
});

test('a CA file without a certificate is refused, and the folder is not created', async (t) => {
  const config = { ...newConfig(t), caFile: '/dev/null' };
  await assert.rejects(compose(config, SERVER), {
    name: 'ConfigurationError',
    message: 'SALLYPORT_CA_FILE: /dev/null: the CA file has no certificate in PEM form',
  });
  assert.equal(existsSync(config.dataDir), false);
});
