/** Pages that go on by themselves: what they say of themselves when their stream is over for good. */
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { WebhookView } from '../../src/webhooks/view.ts';
import type { Visitor } from '../support/browser.ts';
import { type DeliverPortal, startDeliverPortal } from '../support/deliver-portal.ts';
import { connect, makeEventType } from '../support/journey.ts';

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
      await services.publish({ type: TYPE, data: {} }, 'test');
      await log.line(({ msg, firstOffset }) => msg === 'attempt' && firstOffset === offset);
    },
  };
}

/** As a browser tells a page that somebody has gone to another tab, or come back. */
async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
    document.dispatchEvent(new Event('visibilitychange'));`);
}

describe('a page that goes on by itself', () => {
  for (const path of ['/', WATCH]) {
    it(`sends whoever comes back to it after the session to sign in: ${path}`, async (t) => {
      const { portal, openAs } = await watched(t);
      const { services } = portal.service;
      const visitor: Visitor = await openAs('viewer', '/account');
      const connected = visitor.page.waitForResponse((reply) => isStream(reply.headers()));
      await visitor.open(path);
      await connected;
      await setHidden(visitor.page, true);
      const user = (await services.users.list('', 100)).find(({ role }) => role === 'viewer');
      await services.users.patch(user?.id ?? '', { active: false }, 'command-line');
      await setHidden(visitor.page, false);
      await visitor.page.waitForURL(/\/sign-in/);
      await visitor.page.getByText('Your session is over.').waitFor();
    });
  }
});

function isStream(headers: Readonly<Record<string, string>>): boolean {
  return headers['content-type']?.startsWith('text/event-stream') === true;
}
