/** Passkeys, with the authenticator that Chromium plays for tests (WebDriver's virtual authenticators). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CDPSession } from 'playwright-core';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { type Portal, startPortal, type Visitor } from '../support/browser.ts';
import { succeeded } from '../support/client.ts';
import { makeCustomer, PASSWORD, userOf } from '../support/customer-portal.ts';
import { changeBeside } from '../support/service.ts';

const AUTHENTICATOR = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

/** A visitor by a host name, with a device that keeps passkeys. */
async function visitWithDevice(
  portal: Portal,
): Promise<Visitor & { readonly device: CDPSession; readonly id: string }> {
  const visitor = await portal.visit({ host: 'localhost', expecting: [400, 401] });
  const device = await visitor.context.newCDPSession(visitor.page);
  await device.send('WebAuthn.enable');
  const { authenticatorId: id } = await device.send('WebAuthn.addVirtualAuthenticator', { options: AUTHENTICATOR });
  return { ...visitor, device, id };
}

async function signInByPassword({ page, open }: Visitor, { service: { credentials } }: Portal): Promise<void> {
  await open('/sign-in?next=/account');
  await page.getByLabel('User name').fill(credentials.adminUserName);
  await page.getByLabel('Password').fill(credentials.adminPassword);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Your account' }).waitFor();
}

async function addPasskey({ page }: Visitor, portal: Portal, name = 'Laptop'): Promise<void> {
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByLabel('Your password').fill(portal.service.credentials.adminPassword);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
}

describe('a passkey', () => {
  it('is added with the password, signs in without it, and is removed', async (t) => {
    const portal = await startPortal(t);
    const visitor = await visitWithDevice(portal);
    const { page } = visitor;
    await signInByPassword(visitor, portal);
    await addPasskey(visitor, portal);
    await page.getByText('The passkey is added').waitFor();
    const row = page.getByRole('row').filter({ hasText: 'Laptop' });
    assert.match((await row.textContent()) ?? '', /never.*localhost/);
    await visitor.isAccessible();

    await page.getByRole('button', { name: 'Administrator' }).click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await visitor.open('/account');
    await page.getByText('with a passkey').waitFor();
    assert.doesNotMatch((await row.textContent()) ?? '', /never/);

    // It cannot be undone, so it is asked first.
    await page.getByRole('link', { name: 'Remove the passkey Laptop' }).click();
    await page.getByRole('heading', { name: 'Remove the passkey Laptop?' }).waitFor();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByRole('link', { name: 'Remove the passkey Laptop' }).click();
    await page.getByRole('button', { name: 'Remove the passkey' }).click();
    await page.getByText('The passkey is removed').waitFor();
    await page.getByText('You have none yet.').waitFor();
    await page.getByRole('button', { name: 'Administrator' }).click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('Sign-in failed').waitFor();
    await page.getByRole('alert').getByText('This passkey is not known here').waitFor();
    assert.equal(await page.getByText('password is wrong').count(), 0);
  });

  it('of a customer’s user signs in only at the form of that customer', async (t) => {
    const portal = await startPortal(t);
    const [acme, globex] = [await makeCustomer(portal), await makeCustomer(portal, 'Globex')];
    await userOf(portal, acme, 'ada');
    const visitor = await visitWithDevice(portal);
    const { page } = visitor;
    await visitor.open(`/sign-in/${acme.id}?next=/account`);
    await page.getByLabel('User name').fill('ada');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('Laptop');
    await page.getByLabel('Your password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('The passkey is added').waitFor();
    await page.getByRole('button', { name: 'ada' }).click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    for (const path of ['/sign-in', `/sign-in/${globex.id}`]) {
      await visitor.open(path);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.getByText('Sign-in failed').waitFor();
    }
    await visitor.open(`/sign-in/${acme.id}`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'API products' }).count(), 0);
  });

  it('that signs with a counter that went back is refused as a copy, and the audit log says so', async (t) => {
    const portal = await startPortal(t);
    const visitor = await visitWithDevice(portal);
    const { page } = visitor;
    await signInByPassword(visitor, portal);
    await addPasskey(visitor, portal);
    await page.getByText('The passkey is added').waitFor();
    // As if the device had signed often, and this were a copy of it from before.
    await changeBeside(t, portal.service, 'UPDATE passkey SET counter = 1000');
    await page.getByRole('button', { name: 'Administrator' }).click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('Sign-in failed').waitFor();
    const { items } = await succeeded<{
      items: { action: string; target: string; changes: Record<string, unknown> }[];
    }>(portal.service.admin.get('audit'));
    const refused = items.filter(({ action }) => action === 'user.refuse-passkey');
    assert.equal(refused.length, 1);
    assert.match(JSON.stringify(refused[0]?.changes), /"name":"Laptop","counter":1000.*"counter":\d.*"address"/);
    assert.deepEqual(
      items
        .filter(({ action }) => action === 'user.sign-in')
        .map(({ changes }) => JSON.stringify(changes).includes('passkey')),
      [false],
    );
  });

  it('is not added without the right password, and not left on the device', async (t) => {
    const portal = await startPortal(t);
    const visitor = await visitWithDevice(portal);
    const { page } = visitor;
    await signInByPassword(visitor, portal);
    const add = page.getByRole('button', { name: 'Add a passkey' });
    await page.getByLabel('Name', { exact: true }).fill('Laptop');
    await page.getByLabel('Your password').fill('a guess');
    await add.click();
    await page.getByText('The passkey is not added').waitFor();
    await page.getByText('Your password is wrong.').waitFor();
    assert.equal(await page.evaluate("document.activeElement.matches('.error-summary')"), true);
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Laptop');
    await visitor.isAccessible();
    await addPasskey(visitor, portal, ' ');
    await page.getByText('Name must have 1 to').first().waitFor();
    assert.equal(await page.getByText('Your password is wrong.').count(), 0);
    const { credentials } = await visitor.device.send('WebAuthn.getCredentials', { authenticatorId: visitor.id });
    assert.deepEqual(credentials, [], 'the device keeps an unknown passkey');
    await visitor.open('/account');
    await page.getByText('You have none yet.').waitFor();
    await addPasskey(visitor, portal);
    await page.getByText('The passkey is added').waitFor();
  });

  it('is not asked for once the session is over: the page says where to sign in', async (t) => {
    const portal = await startPortal(t);
    const visitor = await visitWithDevice(portal);
    const { page } = visitor;
    await signInByPassword(visitor, portal);
    const { users, sessions } = portal.service.services;
    const [admin] = await users.list('', 1);
    await sessions.endAll(admin?.id ?? '', COMMAND_LINE);
    await addPasskey(visitor, portal);
    await page.getByText('Your session has expired.').waitFor();
    const { credentials } = await visitor.device.send('WebAuthn.getCredentials', { authenticatorId: visitor.id });
    assert.deepEqual(credentials, []);
  });

  it('of an account that is switched off does not sign in', async (t) => {
    const portal = await startPortal(t);
    const visitor = await visitWithDevice(portal);
    const { page } = visitor;
    await signInByPassword(visitor, portal);
    await addPasskey(visitor, portal);
    await page.getByText('The passkey is added').waitFor();
    const { users } = portal.service.services;
    const [admin] = await users.list('', 1);
    // The last active administrator stays.
    await users.create({ userName: 'other', role: 'administrator' }, COMMAND_LINE);
    await users.patch(admin?.id ?? '', { active: false }, COMMAND_LINE);
    await visitor.open('/account');
    await page.getByText('Your session has expired.').waitFor();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('Sign-in failed').waitFor();
    await page.getByRole('alert').getByText('or its account may not sign in').waitFor();
  });

  it('that the owner does not let be used says so, and that is all', async (t) => {
    const portal = await startPortal(t);
    const visitor = await visitWithDevice(portal);
    const { page, device, id } = visitor;
    await signInByPassword(visitor, portal);
    await addPasskey(visitor, portal);
    await page.getByText('The passkey is added').waitFor();
    await visitor.context.clearCookies();
    await visitor.open('/sign-in');
    await device.send('WebAuthn.setUserVerified', { authenticatorId: id, isUserVerified: false });
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('No passkey was used').waitFor();
  });

  it('cannot be had at an address that is a number', async (t) => {
    const portal = await startPortal(t);
    const { page, open } = await portal.signIn('viewer');
    await open('/account');
    await page.getByText('Passkeys are tied to a host name').waitFor();
    const visitor = await portal.visit();
    await visitor.open('/sign-in');
    assert.equal(await visitor.page.getByRole('button', { name: 'Sign in with a passkey' }).count(), 0);
  });
});
