/** Customers' own users: a form a customer, invitations, and the way back after a session. Which pages may be framed. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { SESSION_COOKIE } from '../../../src/portal/frame/cookies.ts';
import { type Portal, startPortal, type Visitor } from '../../support/browser.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { succeeded } from '../../support/client.ts';
import { type Customer, makeCustomer, openAs, PASSWORD, portalLink, userOf } from '../../support/customer-portal.ts';
import { choose, PASSWORD as INVITED_PASSWORD, invite, open } from '../../support/invitations.ts';
import { newSession, request } from '../../support/portal-requests.ts';

const pathOf = (page: { url(): string }): string => new URL(page.url()).pathname;

describe('a user of a customer', () => {
  it('signs in only at the form of the customer, and returns to it', async (t) => {
    const portal = await startPortal(t);
    const [acme, globex] = [await makeCustomer(portal), await makeCustomer(portal, 'Globex')];
    await userOf(portal, acme, 'ada');
    const plain = await portal.visit({ isBrowserless: true, expecting: [401] });
    const visitor = await portal.visit();
    const enter = async ({ page, open }: Visitor, path: string): Promise<void> => {
      await open(path);
      await page.getByLabel('User name').fill('ada');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    };
    const nobody = '01933f2a-0000-7000-8000-000000000000';
    for (const path of ['/sign-in', `/sign-in/${globex.id}`, `/sign-in/${nobody}`, '/sign-in/no-id']) {
      await enter(plain, path);
      await plain.page.getByText('the user name or password is wrong', { exact: false }).first().waitFor();
      const others = await plain.page.getByText('the link in your invitation leads there', { exact: false }).count();
      assert.equal(others, path === '/sign-in' ? 1 : 0, path);
    }
    await enter(visitor, `/sign-in/${acme.id}?next=/endpoints`);
    const { page, open, isAccessible } = visitor;
    await page.getByRole('heading', { name: 'Endpoints' }).waitFor();
    await page.getByRole('button', { name: 'ada' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.equal(pathOf(page), `/sign-in/${acme.id}`);
    await isAccessible();
    assert.equal(await page.getByText('Sallyport', { exact: false }).count(), 0);
    // A session that ended otherwise leads there too, and back to the page.
    await open('/webhooks');
    assert.equal(page.url(), `${portal.url}/sign-in/${acme.id}?next=%2Fwebhooks`);
  });

  it('gets the same form, whatever the id', async (t) => {
    const portal = await startPortal(t);
    const acme = await makeCustomer(portal);
    const form = async (id: string): Promise<string> =>
      (await request(`${portal.url}/sign-in/${id}`)).text
        .replaceAll(id, 'ID')
        .replaceAll('unknown', 'ID')
        .replaceAll(/value="[\w-]{40,}"/g, '');
    const known = await form(acme.id);
    assert.match(known, /User name/);
    for (const id of ['01933f2a-0000-7000-8000-000000000000', 'no-such-id', 'unknown'])
      assert.equal(await form(id), known, id);
  });

  it('cannot sign in while the customer is suspended', async (t) => {
    const portal = await startPortal(t);
    const acme = await makeCustomer(portal);
    await userOf(portal, acme, 'ada');
    await succeeded(portal.service.admin.patch(`customers/${acme.id}`, { active: false }));
    const { page, open } = await portal.visit({ isBrowserless: true, expecting: [401] });
    await open(`/sign-in/${acme.id}`);
    await page.getByLabel('User name').fill('ada');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('the user name or password is wrong', { exact: false }).first().waitFor();
    assert.equal(
      (await page.context().cookies()).find(({ name }) => name === SESSION_COOKIE),
      undefined,
    );
  });

  it('is invited by the administrator of the customer, and is in its portal after setting a password', async (t) => {
    const portal = await startPortal(t);
    const acme = await makeCustomer(portal);
    const { page, open } = await openAs(portal, acme, { isBrowserless: true });
    await open('/users/new');
    await page.getByLabel('User name').fill('grace');
    await page.getByRole('button', { name: 'Add the user' }).click();
    const link = await page.getByRole('group', { name: 'Invitation' }).locator('code').innerText();
    const place = `${portal.url}/sign-in/${acme.id}`;
    const shows = async ({ page: { getByText } }: Pick<Visitor, 'page'>, path: string): Promise<void> =>
      assert.ok((await getByText(place, { exact: true }).count()) > 0, path);
    await shows({ page }, 'the invitation');
    const guest = await portal.visit({ isBrowserless: true, expecting: [404] });
    await guest.open(new URL(link).pathname);
    assert.equal(await guest.page.getByText('Sallyport', { exact: false }).count(), 0);
    await shows(guest, 'the form of the password');
    await guest.page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await guest.page.getByLabel('Password again').fill(PASSWORD);
    await guest.page.getByRole('button', { name: 'Set password' }).click();
    await guest.page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(await guest.page.getByRole('link', { name: 'API products' }).count(), 0);
    assert.equal(await guest.page.getByRole('link', { name: place }).getAttribute('href'), `/sign-in/${acme.id}`);
    const { items } = await succeeded<{ items: { id: string }[] }>(
      portal.service.admin.get(`users?customerId=${acme.id}`),
    );
    for (const path of ['/account', '/users', `/users/${items[0]?.id}`]) {
      await guest.open(path);
      await shows(guest, path);
    }
    const operator = await portal.signIn('administrator', { isBrowserless: true });
    for (const path of [`/customers/${acme.id}/settings`, `/users/${items[0]?.id}`]) {
      await operator.open(path);
      await shows(operator, path);
    }
    // The usual way back is the link in the message.
    await guest.open(new URL(link).pathname);
    await guest.page.getByRole('heading', { name: 'This link cannot be used' }).waitFor();
    assert.equal(await guest.page.getByText('Sallyport', { exact: false }).count(), 0);
    assert.equal(await guest.page.getByRole('link', { name: 'Sign in' }).getAttribute('href'), `/sign-in/${acme.id}`);
    // A later invitation may have replaced an unknown one.
    await guest.open('/invitations/spi_unknown');
    await guest.page.getByText('Ask an administrator of your company for another one.').waitFor();
    assert.equal(await guest.page.getByText('Sallyport', { exact: false }).count(), 0);
    assert.equal(await guest.page.getByRole('link', { name: 'Sign in' }).count(), 0);
  });
});

it('portal links and invitations can be opened however many wrong ones were tried from the same address', async (t) => {
  const { service, url: invitation } = await invite(t);
  const { id } = await succeeded<Customer>(service.admin.post('customers', { name: 'Acme' }));
  const link = await succeeded<{ url: string }>(
    service.admin.post(`customers/${id}/portal-links`, { role: 'administrator' }),
  );
  const wrong = [
    'portal-links/wrong',
    `portal-links/${'A'.repeat(43)}`,
    'invitations/spi_wrong-0',
    'invitations/spi_wrong-1',
  ];
  for (let time = 0; time < 55; time += 1)
    for (const path of wrong) assert.equal((await request(`${service.url}/${path}`)).status, 404, path);
  assert.equal((await request(link.url)).status, 303);
  assert.equal((await open(invitation)).status, 200);
  assert.equal((await choose(invitation, INVITED_PASSWORD)).status, 200);
});

describe('a portal link', () => {
  it('leads back to the product after signing out, and says so before', async (t) => {
    const portal = await startPortal(t);
    const acme = await makeCustomer(portal);
    const shop = createServer((_, response) => void response.end('the shop'));
    await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
    cleanUp(t, () => void shop.close().closeAllConnections());
    const { port } = shop.address() as AddressInfo;
    const returnUrl = `http://127.0.0.1:${port}/settings?tab=webhooks`;
    const { page } = await openAs(portal, acme, { link: { returnUrl } });
    assert.equal(await page.getByRole('link', { name: `Back to 127.0.0.1:${port}` }).getAttribute('href'), returnUrl);
    await page.getByRole('button', { name: 'Acme' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(returnUrl);
  });

  it('leads to a page that says that the session is over, if it named no way back', async (t) => {
    const portal = await startPortal(t);
    const visitor = await openAs(portal, await makeCustomer(portal));
    await visitor.page.getByRole('button', { name: 'Acme' }).click();
    await visitor.page.getByRole('button', { name: 'Sign out' }).click();
    await visitor.page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await visitor.isAccessible();
    const { page, context } = await portal.visit({ isBrowserless: true, expecting: [404] });
    await context.addCookies(await visitor.context.cookies());
    // Not to the sign-in of the operator, whose name customers do not know.
    await page.goto(`${portal.url}/webhooks`);
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    assert.doesNotMatch(await page.title(), /Sallyport/);
    await page.goto(`${portal.url}/nothing-here`);
    await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
    assert.doesNotMatch(await page.title(), /Sallyport/);
    await page.getByRole('link', { name: 'To the portal' }).click();
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  });
});

describe('a visitor without a session', () => {
  it('finds out at the form of the operator how customers get in, in the look of the operator', async (t) => {
    const portal = await startPortal(t, { env: { SALLYPORT_PORTAL_FRAME_ANCESTORS: 'https://shop.example' } });
    const textOf = async (path: string, headers = {}): Promise<string> =>
      (await request(portal.url + path, { headers })).text;
    assert.doesNotMatch(await textOf('/sign-in'), /customer/, 'nobody has customers yet');
    await makeCustomer(portal);
    assert.match(await textOf('/sign-in'), /Are you a customer\? <a href="\/session-ended">/);
    const { token } = await newSession(portal.service, 'administrator');
    const form = { name: 'Corner Shop', logo: '', accent: '#0a6e4f' };
    assert.equal((await request(`${portal.url}/settings/customers-portal`, { token, form })).status, 303);
    const signIn = await textOf('/sign-in?next=/webhooks');
    assert.match(signIn, /<title>Sign in – Corner Shop<\/title>/);
    assert.match(signIn, /Are you a customer of Corner Shop\?/);
    assert.doesNotMatch(signIn, /Sallyport/);
    const wayIn = await textOf('/session-ended');
    assert.match(wayIn, /<h1>How to open this portal<\/h1>/);
    assert.match(wayIn, /Go to <a href="https:\/\/shop\.example">Corner Shop<\/a>, and sign in there if it asks\./);
    const visited = { cookie: '__Host-sallyport-customer=link.01933f2a-0000-7000-8000-000000000000' };
    assert.match(
      await textOf('/session-ended', visited),
      /Open this portal again from <a href="https:\/\/shop\.example">Corner Shop’s site<\/a>\./,
    );
    const framed = { 'sec-fetch-dest': 'iframe', cookie: '__Host-sallyport-frame=1' };
    const inFrame = await textOf('/session-ended', framed);
    assert.match(inFrame, /Open it again from Corner Shop/);
    assert.match(inFrame, /href="https:\/\/shop\.example" target="_top">Open again</);
    for (const path of ['/session-ended', '/portal-links/unknown']) {
      for (const text of [await textOf(path), await textOf(path, framed)]) {
        assert.doesNotMatch(text, /F5/);
        assert.ok((text.match(/\bonce\b/g) ?? []).length <= 1, 'says it once');
      }
    }
  });
});

/** The token in the session cookie of a new link. */
async function tokenOf(portal: Portal, customer: Customer): Promise<string> {
  const { headers } = await request(portal.url + (await portalLink(portal, customer)));
  return new RegExp(`${SESSION_COOKIE}=([^;]+)`).exec(headers.get('set-cookie') ?? '')?.[1] ?? '';
}

describe('framing', () => {
  const ancestors = 'https://shop.example https://app.shop.example:8443';
  const start = (t: TestContext) =>
    startPortal(t, { env: { SALLYPORT_PORTAL_FRAME_ANCESTORS: ancestors.replace(' ', ',') } });
  const framed = { 'sec-fetch-dest': 'iframe' };

  it('is allowed for pages of a customer’s session, by exactly the configured origins', async (t) => {
    const portal = await start(t);
    const token = await tokenOf(portal, await makeCustomer(portal));
    for (const path of ['/', '/endpoints', '/webhooks/new', '/audit', '/endpoints/nothing', '/products']) {
      const { headers } = await request(portal.url + path, { token, headers: framed });
      assert.match(headers.get('content-security-policy') ?? '', new RegExp(`; frame-ancestors ${ancestors}$`), path);
      assert.equal(headers.get('x-frame-options'), null, path);
    }
    for (const path of ['/session-ended', '/portal-links/unknown']) {
      const { headers } = await request(portal.url + path, { headers: framed });
      assert.match(headers.get('content-security-policy') ?? '', new RegExp(`frame-ancestors ${ancestors}$`), path);
    }
  });

  it('is allowed for no other page: neither the operator’s, nor sign-in, invitations, catalogue or unknown ones', async (t) => {
    const portal = await start(t);
    const acme = await makeCustomer(portal);
    const { token } = await newSession(portal.service, 'administrator');
    const pages: readonly [path: string, token?: string][] = [
      ...['/', '/customers', `/customers/${acme.id}`, '/settings/customers-portal', '/nothing'].map(
        (path) => [path, token] as [string, string],
      ),
      ...['/sign-in', `/sign-in/${acme.id}`, '/event-catalogue', '/invitations/x', '/nothing', '/'].map(
        (path) => [path] as [string],
      ),
    ];
    for (const [path, session] of pages) {
      const { headers } = await request(portal.url + path, { token: session, headers: framed });
      assert.match(headers.get('content-security-policy') ?? "frame-ancestors 'none'", /frame-ancestors 'none'/, path);
      if (headers.get('location') === null) assert.equal(headers.get('x-frame-options'), 'DENY', path);
    }
  });

  it('shows nothing of the operator’s session on a page that may be framed, and ends no session from a frame', async (t) => {
    const portal = await start(t);
    const { token } = await newSession(portal.service, 'administrator');
    for (const path of ['/session-ended', '/portal-links/unknown']) {
      const pageOf = async (session?: string): Promise<string> => {
        const { text } = await request(portal.url + path, { token: session, headers: framed });
        return text.replace(/value="[\w-]{60,}"/g, '…');
      };
      assert.equal(await pageOf(token), await pageOf(), path);
    }
    // The cookies of a frame are kept apart, so the session of the tab goes on.
    const acme = await makeCustomer(portal);
    await request(portal.url + (await portalLink(portal, acme)), { token, headers: framed });
    assert.equal((await request(`${portal.url}/customers`, { token })).status, 200);
    await request(portal.url + (await portalLink(portal, acme)), { token });
    assert.equal((await request(`${portal.url}/customers`, { token })).status, 303);
  });

  it('leads from the public catalogue to the same types in the portal of a session, and to the way in without one', async (t) => {
    const portal = await start(t);
    const { id } = await succeeded<{ id: string }>(portal.service.admin.post('event-types', { name: 'order.created' }));
    await succeeded(portal.service.admin.post('event-types', { name: 'order.margin', public: false }));
    const token = await tokenOf(portal, await makeCustomer(portal));
    const placeOf = async (path: string, options: { token?: string; headers?: Record<string, string> }) => {
      const { status, headers } = await request(portal.url + path, options);
      return headers.get('location') ?? status;
    };
    for (const headers of [framed, {}]) {
      assert.equal(await placeOf('/event-catalogue?q=order', { token, headers }), '/event-types?q=order');
      assert.equal(await placeOf('/event-catalogue/order.created', { token, headers }), `/event-types/${id}`);
      assert.equal(await placeOf('/event-catalogue/order.margin', { token, headers }), 404);
    }
    for (const path of ['/event-catalogue', '/event-catalogue/order.created']) {
      assert.equal(await placeOf(path, { headers: framed }), '/session-ended');
      const { text } = await request(portal.url + path);
      assert.match(text, /<header class="public-header">[\s\S]*href="\/event-catalogue"[\s\S]*href="\/session-ended"/);
    }
  });

  it('is allowed for nothing without the setting, and gives a link in a frame no cookie of its own', async (t) => {
    const portal = await startPortal(t);
    const acme = await makeCustomer(portal);
    const token = await tokenOf(portal, acme);
    const { headers } = await request(`${portal.url}/`, { token, headers: framed });
    assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'$/);
    assert.equal(headers.get('x-frame-options'), 'DENY');
    const opened = await request(portal.url + (await portalLink(portal, acme)), { headers: framed });
    assert.doesNotMatch(opened.headers.get('set-cookie') ?? '', /SameSite=None|Partitioned/);
  });
});
