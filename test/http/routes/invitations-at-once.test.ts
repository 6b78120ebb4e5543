/** Concurrent attempts with invitation links gain nothing over sequential ones. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { verifyPassword } from '../../../src/access/password.ts';
import { NETWORK_FAILURES_MAX } from '../../../src/kernel/limits/limits.ts';
import { choose, type Invited, invite, isUnusable, open, PASSWORD, storedHash } from '../../support/invitations.ts';
import { tryAtOnce } from '../../support/side-by-side.ts';

type Page = Awaited<ReturnType<typeof open>>;

/** Requests the pages of all links at once. */
function tryLinks(
  t: TestContext,
  { service: { services } }: Invited,
  urls: readonly string[],
  ask: (url: string) => Promise<Page>,
): Promise<Page[]> {
  return tryAtOnce(t, urls, {
    target: services.invitations,
    method: 'find',
    triedOf: ([token]) => urls.find((url) => url.endsWith(`/${token}`)) ?? assert.fail('a link that was not tried'),
    send: ask,
  });
}

function wrongLinks({ service }: Invited, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${service.url}/invitations/spi_wrong-${at}`);
}

const statusesOf = (pages: readonly Page[]): number[] => pages.map(({ status }) => status);

describe('concurrent attempts with invitations', () => {
  it('report a hundred failures, and afterwards not even the page of the right link', async (t) => {
    const invited = await invite(t);
    const wrong = wrongLinks(invited, NETWORK_FAILURES_MAX + 20);
    const pages = await tryLinks(t, invited, [...wrong, invited.url], (url) => open(url));
    assert.deepEqual(
      statusesOf(pages),
      pages.map((_, at) => (at < NETWORK_FAILURES_MAX ? 404 : 429)),
    );
    assert.ok(pages.slice(0, NETWORK_FAILURES_MAX).every(isUnusable));
    const right = pages.at(-1);
    assert.match(right?.headers.get('retry-after') ?? '', /^\d+$/);
    assert.equal(right?.text, pages[NETWORK_FAILURES_MAX]?.text);
    assert.doesNotMatch(right?.text ?? '', /grace/);
  });

  it('set no password afterwards, and leave the link valid', async (t) => {
    const invited = await invite(t);
    const { service, user, url } = invited;
    const wrong = wrongLinks(invited, NETWORK_FAILURES_MAX);
    const pages = await tryLinks(t, invited, [...wrong, url], (link) => choose(link, PASSWORD));
    assert.deepEqual(statusesOf(pages), [...wrong.map(() => 404), 429]);
    assert.equal(await storedHash(service, user), null);
    service.advance(61_000);
    assert.equal((await choose(url, PASSWORD)).status, 200);
    assert.ok(await verifyPassword(PASSWORD, await storedHash(service, user)));
  });

  it('accept the right link among the first hundred', async (t) => {
    const invited = await invite(t);
    const wrong = wrongLinks(invited, NETWORK_FAILURES_MAX - 1);
    const pages = await tryLinks(t, invited, [...wrong, invited.url], (url) => open(url));
    assert.deepEqual(statusesOf(pages), [...wrong.map(() => 404), 200]);
    assert.match(pages.at(-1)?.text ?? '', /value="grace"/);
  });
});
