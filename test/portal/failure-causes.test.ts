/** The causes of failures on pages of the portal: what they say of them, and how often they are counted. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { FAILURES_EVERY_MS } from '../../src/portal/parts/limits.ts';
import { cleanUp } from '../support/cleanup.ts';
import { connect, deliveriesOf, type Journey, makeEventType, publish, startJourney } from '../support/journey.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { changeBeside } from '../support/service.ts';
import { onSqlite } from '../support/store.ts';

const TYPE = 'order.created';
const ALONE = { name: 'Dock', maxBatchRecords: 1, retry: { policy: 'linear', maxAttempts: 1 } };

type Dock = Journey & Awaited<ReturnType<typeof connect>> & { page(path: string): Promise<string> };

/** A webhook whose first deliveries, one a request, are answered with these statuses. Later ones are accepted. */
async function dock(t: TestContext, more: Readonly<Record<string, unknown>>, ...statuses: number[]): Promise<Dock> {
  const journey = await startJourney(t);
  const { admin, service } = journey;
  await makeEventType(admin, TYPE);
  const connected = await connect(journey, [TYPE], { webhook: { ...ALONE, ...more }, endpoint: { name: 'Gate' } });
  const left = [...statuses];
  connected.at.answer(() => ({ status: left.shift() ?? 204, headers: { 'retry-after': '3600' } }));
  for (const _ of statuses) {
    await publish(admin, TYPE, {});
    await service.log.nextAttempt(connected.webhook.id);
  }
  const { token } = await newSession(service, 'operator');
  const page = async (path: string): Promise<string> =>
    (await request(service.url + path, { token })).text.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
  return { ...journey, ...connected, page };
}

/** Counts how often this process counts the failures of a webhook by cause. */
function countings(t: TestContext): () => number {
  const probe = new BetterSqlite3(':memory:');
  const prototype = Object.getPrototypeOf(probe.prepare('SELECT 1')) as { all: BetterSqlite3.Statement['all'] };
  probe.close();
  const { all } = prototype;
  let counted = 0;
  prototype.all = function (this: BetterSqlite3.Statement, ...values: unknown[]) {
    if (this.source.includes('INDEXED BY batch_pending') && this.source.includes(' AS cause')) counted += 1;
    return all.apply(this, values);
  };
  cleanUp(t, () => {
    prototype.all = all;
  });
  return () => counted;
}

/** Opens the stream of a live page. Returns a function that waits for its next message. */
async function openStream(
  t: TestContext,
  { service }: Journey,
  path: string,
  token: string,
): Promise<() => Promise<void>> {
  const sent = httpRequest(service.url + path, { headers: { cookie: `${SESSION_COOKIE}=${token}` } });
  cleanUp(t, () => void sent.destroy());
  sent.on('error', () => undefined);
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  const lines = createInterface({ input: response })[Symbol.asyncIterator]();
  return async () => {
    // An empty line ends a message. The stream begins with a comment.
    for (let hasData = false, line = 'any'; line !== '' || !hasData; ) {
      const read = await lines.next();
      assert.ok(read.done !== true, 'the stream ended');
      line = read.value;
      hasData ||= line.startsWith('data:');
    }
  };
}

describe('the causes of failures', () => {
  onSqlite('are counted once for the page of a delivery that waits', async (t) => {
    const { admin, webhook, page } = await dock(t, { retry: { policy: 'linear', maxAttempts: 5 } }, 503);
    await publish(admin, TYPE, {});
    const waiting = (await deliveriesOf(admin, webhook)).at(-1);
    const counted = countings(t);
    assert.match(
      await page(`/deliveries/${waiting?.id}`),
      /Waits for its turn.*Latest error: the receiver answered 503\./,
    );
    assert.equal(counted(), 1);
  });

  onSqlite('are counted by live pages at a pace of their own, however many attempts are made', async (t) => {
    const d = await dock(t, {}, 422);
    const { admin, service, webhook } = d;
    const { token } = await newSession(service, 'viewer');
    const counted = countings(t);
    const startedAt = performance.now();
    const paths = ['/deliveries/failures/changes', '/deliveries/changes?state=dead', '/deliveries/changes'];
    const streams = await Promise.all(paths.map((path) => openStream(t, d, path, token)));
    await Promise.all(streams.map((next) => next()));
    assert.equal(counted(), 3, 'once for each page');
    // Sent again after each attempt, at the pace of other pages.
    const listed = streams[2] ?? assert.fail();
    for (let round = 0; round < 3; round += 1) {
      await publish(admin, TYPE, {});
      await service.log.nextAttempt(webhook.id);
      await listed();
    }
    const periods = Math.ceil((performance.now() - startedAt) / FAILURES_EVERY_MS);
    assert.ok(counted() <= 3 * periods, `${counted()} times for three pages in ${periods} periods`);
  });

  it('are one only if that of each dead delivery is known', async (t) => {
    const { service, page } = await dock(t, {}, 422, 422, 422);
    assert.match(await page('/deliveries?state=dead'), /3 dead, all with 422 Unprocessable Entity at Dock\./);
    assert.doesNotMatch(await page('/deliveries/failures'), /is not known/);
    await changeBeside(t, service, 'DELETE FROM attempt WHERE first_offset = 1');
    assert.doesNotMatch(await page('/deliveries?state=dead'), /dead, all with/);
    assert.match(await page('/deliveries/failures'), /The cause of 1 dead delivery is not known: it was never tried/);
    await changeBeside(t, service, 'DELETE FROM attempt');
    const none = await page('/deliveries/failures');
    assert.match(none, /No known cause.*The cause of 3 dead deliveries is not known/);
    assert.doesNotMatch(none, /No delivery is dead/);
    // The overview counts them too.
    assert.match(await page('/'), /3 dead · Failures by cause/);
  });

  it('are told on the overview and in the search after the webhook failed, with the action that sends all', async (t) => {
    const { service, page, webhook, endpoint } = await dock(t, {}, ...Array.from({ length: 10 }, () => 401));
    await service.log.line(({ msg }) => msg === 'webhook failed');
    const overview = await page('/');
    assert.match(overview, /Ten requests in a row used up their attempts: 401 Unauthorized\./);
    assert.match(
      overview,
      /Then send a test event before you start it\. Credentials of Gate · .*Start, and send 10 again/,
    );
    assert.match(overview, /Dead now ?10.*Problems.*Dock/, 'the figures come first');
    const own = await page(`/webhooks/${webhook.id}`);
    assert.match(
      own,
      /Start ?Start, and send 10 again.*Credentials of Gate · Failures by cause.*Dead ?10/,
      'told once',
    );
    assert.doesNotMatch(own, /are dead|See failures|Send them again/);
    assert.match(own, /Send a test event.*Dead ?10.*Send a test event.*Throughput/, 'the form is above the charts');
    const { token } = await newSession(service, 'operator');
    const { text } = await request(`${service.url}/endpoints/${endpoint.id}`, { token });
    assert.match(text, new RegExp(`href="/webhooks/${webhook.id}#samples">\\s*<svg.*Send a test event`));
    assert.match(await page('/search'), /Dock ?failed.{0,40}: 401 Unauthorized/);
    assert.match(await page('/deliveries'), /1 webhook has failed\. Failures by cause/);
    assert.doesNotMatch(await page('/deliveries?state=dead'), /1 webhook has failed/);
    const failures = await page('/deliveries/failures');
    assert.match(failures, /Pending ?First failure ?Last failure.*The oldest is #0\./);
    assert.match(await page('/deliveries/replay'), /Dead deliveries.*Or choose the deliveries yourself/);
    assert.match(await page('/deliveries/replay?webhook=&state=dead'), /Webhook is required: choose one\./);
  });

  it('has an action on the overview while the webhook fails: the oldest delivery is tried now', async (t) => {
    const { service, webhook, at } = await dock(t, { retry: { policy: 'linear', maxAttempts: 5 } }, 500);
    const { token } = await newSession(service, 'operator');
    const path = `/webhooks/${webhook.id}/try`;
    const overview = await request(`${service.url}/`, { token });
    assert.match(overview.text, new RegExp(`name="offset" value="0" formaction="${path}"[^>]*>\\s*<svg.*Try #0 now`));
    const sent = await request(service.url + path, { token, form: { offset: '0' } });
    assert.equal(sent.status, 303);
    assert.match(sent.headers.get('location') ?? '', /^\/deliveries\//);
    for (let n = 0; n < 2; n += 1) await at.next();
    assert.equal((await request(service.url + path, { token, form: { offset: '7' } })).status, 404);
  });

  it('of dead deliveries are named on the pages of the webhook and of its endpoint, the most frequent first', async (t) => {
    const { page, webhook, endpoint } = await dock(t, {}, 404, 422, 422, 404, 422);
    const said = String.raw`Most often 422 Unprocessable Entity \(3 deliveries\), also 404 Not Found\.`;
    assert.match(await page(`/webhooks/${webhook.id}`), new RegExp(`5 deliveries are dead.*${said}`));
    assert.match(await page(`/endpoints/${endpoint.id}`), new RegExp(`Dead deliveries\\. ${said}`));
  });
});
