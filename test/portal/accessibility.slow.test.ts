/** Every page with something in it: axe-core finds nothing, in light and in dark, and nothing is wider than the screen. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startPortal } from '../support/browser.ts';
import { shownPages } from '../support/portal-pages.ts';
import { seededPath, seedPortal, type Words } from '../support/portal-seed.ts';
import { startReceiver } from '../support/receiver.ts';
import { sharedCertificates } from '../support/tls.ts';

const WORDS: Words = {
  userName: 'a-user-name-that-is-as-long-as-they-come-without-any-place-to-break-it@example.com',
  displayName: 'Grace Hopper',
  product: 'Orders API',
  description: 'Orders of the shop, from the basket to the parcel.',
  application: 'Warehouse sync',
  endpoints: ['Acme shop', `Globex${'-intake'.repeat(20)}`, 'Initech staging'],
  webhooks: ['Orders to Acme', `Orders${'-to-Globex'.repeat(15)}`, 'Orders to Initech'],
  eventTypes: ['order.created', 'invoice.paid'],
  keys: ['acme-2026', 'globex-2026'],
  data: (number) => ({ orderId: number, note: 'x'.repeat(300) }),
  subject: 'customer-4711',
  failure: { status: 503, headers: { 'content-type': 'text/plain' }, body: 'y'.repeat(500) },
};

/** Times of another day, durations and states that reach beyond their cells, which hide the rest. */
const CUT = `[...document.querySelectorAll('td time:is([data-local=short], [data-local=exact])')].forEach((time) => {
  time.textContent = time.dataset.local === 'short' ? 'Nov 25, 11:30 AM' : 'Nov 22, 12:32:24 AM';
});
[...document.querySelectorAll('td :is(time, .badge), td[data-label=Outcome] > .cell')]
  .filter((one) => {
    const cell = one.closest('.cell');
    const isHiding = getComputedStyle(cell).overflowX === 'hidden';
    const end = one.getBoundingClientRect().right - cell.getBoundingClientRect().right;
    return isHiding && (end > 1 || (one === cell && cell.scrollWidth > cell.clientWidth + 1));
  })
  .map((one) => one.textContent)`;

/** Lists whose rows have a line for each of at least four cells. */
const UNFOLDED = `[...document.querySelectorAll('main .results .table-box:not(.compact)')]
  .filter((box) => box.querySelectorAll('thead th').length > 3 && box.closest('.delivery-list') === null)
  .map((box) => box.ariaLabel)`;

/** Tests that share the pages: one would come near the time limit of a test on a slow machine. */
const PARTS = 3;
const WIDTHS = [360, 768, 1024, 1920];
const FITS = `fits screens of ${WIDTHS[0]} to ${WIDTHS.at(-1)} px`;

describe('every page', () => {
  for (let part = 0; part < PARTS; part += 1) {
    it(`is accessible in both themes, and ${FITS} (part ${part + 1} of ${PARTS})`, async (t) => {
      const { ca, server } = sharedCertificates();
      const portal = await startPortal(t, { ca });
      const receiver = await startReceiver(t, server, { clock: portal.service.clock });
      const { ids } = await seedPortal({ service: portal.service, admin: portal.service.admin, receiver }, WORDS);
      const { page, open, isAccessible } = await portal.signIn('administrator');
      for (const [at, { path }] of shownPages().entries()) {
        const target = at % PARTS === part ? seededPath(path, ids) : null;
        if (target === null) continue;
        await page.setViewportSize({ width: 1280, height: 900 });
        assert.equal(await open(target), 200, target);
        await isAccessible();
        assert.deepEqual(await page.evaluate(CUT), [], `cut on ${target}`);
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 800 });
          const wide = await page.evaluate(
            'document.documentElement.scrollWidth - document.documentElement.clientWidth',
          );
          assert.equal(wide, 0, `${target} at ${width} px`);
          if (width === 360) assert.deepEqual(await page.evaluate(UNFOLDED), [], `a line for each cell on ${target}`);
        }
      }
    });
  }
});
