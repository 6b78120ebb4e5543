/** Live pages: what they show while their stream is paused, interrupted or ended. */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { TAIL_SHOWN } from '../../src/portal/parts/limits.ts';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import type { Visitor } from '../support/browser.ts';
import { type DeliverPortal, startDeliverPortal } from '../support/deliver-portal.ts';
import { connect, makeEventType } from '../support/journey.ts';
import { ACTOR } from '../support/services.ts';

const TYPE = 'order.created';
const WATCH = '/deliveries/watch';

type Watched = DeliverPortal & { readonly webhook: WebhookView; sendOne(offset: number): Promise<void> };

async function watched(t: TestContext): Promise<Watched> {
  const deliver = await startDeliverPortal(t);
  const { admin, receiver, portal } = deliver;
  const { services, log } = portal.service;
  await makeEventType(admin, TYPE);
  const { webhook } = await connect({ admin, receiver }, [TYPE], { webhook: { name: 'Dock', maxBatchRecords: 1 } });
  return {
    ...deliver,
    webhook,
    sendOne: async (offset) => {
      await services.publish({ type: TYPE, data: {} }, ACTOR);
      await log.line(({ msg, firstOffset }) => msg === 'attempt' && firstOffset === offset);
    },
  };
}

/** Makes the browser report that its user went to another tab, or came back. */
async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
    document.dispatchEvent(new Event('visibilitychange'));`);
}

function state(page: Page, text: string): Promise<void> {
  return page.locator('.tail-live', { hasText: text }).waitFor();
}

describe('a live page', () => {
  for (const path of ['/', '/deliveries', '/deliveries/failures', WATCH]) {
    it(`leads to the sign-in page after the session ended: ${path}`, async (t) => {
      const { portal } = await watched(t);
      const { services } = portal.service;
      const visitor: Visitor = await portal.signIn('viewer');
      const connected = visitor.page.waitForResponse((reply) => isStream(reply.headers()));
      await visitor.open(path);
      await connected;
      await setHidden(visitor.page, true);
      const user = (await services.users.list('', 100)).find(({ role }) => role === 'viewer');
      await services.users.patch(user?.id ?? '', { active: false }, COMMAND_LINE);
      await setHidden(visitor.page, false);
      await visitor.page.waitForURL(/\/sign-in/);
      await visitor.page.getByText('Your session has expired.').waitFor();
    });
  }
});

function isStream(headers: Readonly<Record<string, string>>): boolean {
  return headers['content-type']?.startsWith('text/event-stream') === true;
}

describe('the live list of attempts', () => {
  it('keeps new attempts while it is paused, and shows all of them then', async (t) => {
    const { openAs, sendOne } = await watched(t);
    const { page } = await openAs('viewer', WATCH);
    await state(page, 'Live');
    await sendOne(0);
    await page.getByText('#0').waitFor();
    const pause = page.getByRole('button', { name: 'Pause' });
    const dropped = page.evaluate(`new Promise((resolve) =>
      document.addEventListener('htmx:sse:before:message', () => setTimeout(resolve), { once: true }))`);
    await pause.click();
    await state(page, 'Paused');
    await sendOne(1);
    await dropped;
    assert.equal(await page.getByText('#1').count(), 0, 'a paused list changed');
    await pause.click();
    await state(page, 'Live');
    await page.getByText('#1').waitFor();
    await sendOne(2);
    await page.getByText('#2').waitFor();
    const rows = await page.locator('.tail-row').allInnerTexts();
    assert.deepEqual(
      rows.map((row) => /#\d/.exec(row)?.[0]),
      ['#2', '#1', '#0'],
    );
    assert.equal(await page.locator('.tail-note').count(), 0);
  });

  it('keeps a bounded number of attempts while it is paused', async (t) => {
    const { openAs } = await watched(t);
    const { page } = await openAs('viewer', WATCH);
    await state(page, 'Live');
    await page.getByRole('button', { name: 'Pause' }).click();
    // As the stream brings them, in two pieces.
    const shown = await page.evaluate(`(() => {
      const list = document.querySelector('.tail');
      for (const piece of [0, 1]) {
        const data = Array.from({ length: ${TAIL_SHOWN} }, (_, at) => '<li class="tail-row">' + piece + '.' + at + '</li>').join('');
        const message = { data, event: '', id: '' };
        list.dispatchEvent(new CustomEvent('htmx:sse:before:message', { bubbles: true, cancelable: true, detail: { message } }));
      }
      document.querySelector('[data-tail-pause]').click();
      return [...list.querySelectorAll('.tail-row')].map((row) => row.textContent);
    })()`);
    assert.deepEqual(
      shown,
      Array.from({ length: TAIL_SHOWN }, (_, at) => `1.${at}`),
    );
  });

  it('takes streams for aborted while it is left, also one that connects only then', async (t) => {
    const { openAs } = await watched(t);
    const { page } = await openAs('viewer', WATCH);
    await state(page, 'Live');
    const areAborted = await page.evaluate(`(() => {
      const connect = () => {
        const connection = { abortController: { abort() {}, signal: { aborted: false } } };
        const options = { bubbles: true, detail: { connection } };
        document.querySelector('.tail').dispatchEvent(new CustomEvent('htmx:sse:after:connection', options));
        return connection;
      };
      const before = connect();
      const isAborted = before.abortController.signal.aborted;
      dispatchEvent(new Event('beforeunload'));
      return [isAborted, ...[before, connect()].map(({ abortController }) => abortController.signal.aborted)];
    })()`);
    assert.deepEqual(areAborted, [false, true, true]);
  });

  it('says that it is not connected, and marks the gap', async (t) => {
    const { openAs, sendOne } = await watched(t);
    const { page } = await openAs('viewer', WATCH, { expecting: [503, 'SSE reconnect failed with status 503'] });
    await state(page, 'Live');
    await sendOne(0);
    await page.getByText('#0').waitFor();
    const pause = page.getByRole('button', { name: 'Pause' });
    await pause.click();
    await state(page, 'Paused');
    await page.route('**/deliveries/live', (route) => route.fulfill({ status: 503 }));
    await setHidden(page, true);
    await setHidden(page, false);
    await state(page, 'Not connected');
    await pause.click();
    await pause.click();
    await state(page, 'Not connected');
    await sendOne(1);
    await page.unroute('**/deliveries/live');
    await state(page, 'Paused');
    assert.equal(await page.locator('.tail-note').count(), 0, 'a paused list changed');
    await sendOne(2);
    await pause.click();
    await state(page, 'Live');
    await page.getByText('#2').waitFor();
    const rows = await page.locator('.tail > li:not(.tail-empty)').allInnerTexts();
    assert.deepEqual(
      rows.map((row) => /#\d|The connection was lost/.exec(row)?.[0]),
      ['#2', 'The connection was lost', '#0'],
    );
    assert.equal(await page.locator('#failure .notice').isHidden(), true, 'it is said twice');
  });
});
