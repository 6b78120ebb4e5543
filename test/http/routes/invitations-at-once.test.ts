/** Concurrent attempts with invitation links do not hold up the right one. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { verifyPassword } from '../../../src/access/password.ts';
import { choose, type Invited, invite, isUnusable, open, PASSWORD, storedHash } from '../../support/invitations.ts';
import { repeatsInSlowTier } from '../../support/repeats.ts';
import { tryAtOnce } from '../../support/side-by-side.ts';

repeatsInSlowTier('postgres');

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

describe('concurrent attempts with invitations', () => {
  it('refuse every wrong link and take the right one, however many there are', async (t) => {
    const invited = await invite(t);
    const { service, user, url } = invited;
    const wrong = wrongLinks(invited, 120);
    const shown = await tryLinks(t, invited, [...wrong, url], (link) => open(link));
    assert.deepEqual(shown.map(isUnusable), [...wrong.map(() => true), false]);
    const pages = await tryLinks(t, invited, [...wrong, url], (link) => choose(link, PASSWORD));
    assert.deepEqual(
      pages.map(({ status }) => status),
      [...wrong.map(() => 404), 200],
    );
    assert.ok(await verifyPassword(PASSWORD, await storedHash(service, user)));
  });
});
