/** The code of the hot paths stays compiled: V8 may drop it a few times while it learns, but not again and again. */
import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { EDGE, tokenFor } from '../support/client.ts';
import { connect, makeEventType } from '../support/journey.ts';
import { startReceiver } from '../support/receiver.ts';
import { spawnService, temporaryFolder } from '../support/service.ts';
import { sharedCertificates } from '../support/tls.ts';

const TYPE = 'order.placed';
const CALLS = 6000;
const EVENTS = 1500;
const AT_ONCE = 16;
/** While its types become known, a function is dropped up to five times. With the fault it was dropped once in a hundred calls. */
const DROPS_MAX = 15;

/** A shell that adds an option of V8, which `NODE_OPTIONS` does not accept, and keeps what V8 prints from the service's own line. */
function traced(file: string): [string, ...string[]] {
  const script = `node=$1; shift; exec "$node" --trace-deopt "$@" > >(tee '${file}' | grep --line-buffered '^{')`;
  return ['bash', '-c', script, 'bash'];
}

test('no function of a guarded call, of publishing or of delivery is compiled again and again', async (t) => {
  const file = join(temporaryFolder(t), 'trace');
  const { ca, server } = sharedCertificates();
  const receiver = await startReceiver(t, server);
  const service = await spawnService(t, { ca, logLevel: 'info', through: traced(file) });
  const { admin, url } = service;
  await makeEventType(admin, TYPE);
  const { at } = await connect({ admin, receiver }, [TYPE], { webhook: { maxBatchRecords: 1 } });
  const authorization = `Bearer ${await tokenFor(url, service.credentials)}`;
  const call = async (path: string, init: RequestInit, status: number): Promise<void> => {
    const response = await fetch(url + path, {
      ...init,
      headers: { authorization, 'content-type': 'application/json' },
    });
    await response.arrayBuffer();
    assert.equal(response.status, status);
  };
  const body = JSON.stringify({ type: TYPE, data: { n: 1 } });
  await repeated(EVENTS, () => call(`${EDGE}/events`, { method: 'POST', body }, 202));
  await repeated(CALLS, () => call(`${EDGE}/users?limit=1`, {}, 200));
  while (at.deliveries.length < EVENTS) await at.next();
  await service.stop();
  const often = [...(await dropsByFunction(file))].filter(([, drops]) => drops > DROPS_MAX);
  assert.deepEqual(often, []);
});

async function repeated(count: number, act: () => Promise<void>): Promise<void> {
  let left = count;
  const work = async (): Promise<void> => {
    while (left-- > 0) await act();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** How often compiled code was dropped, by the name and identity of the function. */
async function dropsByFunction(file: string): Promise<Map<string, number>> {
  const drops = new Map<string, number>();
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const [, name] = /^\[bailout .*<JSFunction (.* \(sfi = \w+\))>/.exec(line) ?? [];
    if (name !== undefined) drops.set(name, (drops.get(name) ?? 0) + 1);
  }
  assert.ok(drops.size > 0, 'V8 wrote no trace');
  return drops;
}
