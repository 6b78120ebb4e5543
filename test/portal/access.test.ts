/** Applications, users and API products: in a browser where a script or the look matters, and otherwise by requests. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SERVICE } from '../../src/domain/acting.ts';
import { USERS_SUGGESTED } from '../../src/portal/parts/limits.ts';
import { startPortal } from '../support/browser.ts';
import { succeeded, tokenFor } from '../support/client.ts';

describe('applications', () => {
  for (const isScriptless of [false, true]) {
    it(`is registered with a new service account, and its credentials work${isScriptless ? ', without JavaScript' : ''}`, async (t) => {
      const portal = await startPortal(t);
      const { page, open, isAccessible } = await portal.signIn('administrator', { isBrowserless: isScriptless });
      await open('/applications');
      if (!isScriptless) {
        const { height = 99 } = (await page.locator('.copyable code').first().boundingBox()) ?? {};
        assert.ok(height < 24, 'a client id is not broken');
      }
      await page.getByRole('link', { name: 'Register an application' }).click();
      assert.equal(await page.getByRole('radio', { name: 'A new service account' }).isChecked(), true);
      await page.getByLabel('Name').fill('Acme: staff import');
      const account = page.getByRole('textbox', { name: 'Service account' });
      // The script offers a name made of the application's, which can be changed.
      if (isScriptless) await account.fill('acme-staff-import');
      else assert.equal(await account.inputValue(), 'acme-staff-import');
      if (!isScriptless) assert.equal(await page.locator('#field-userId').isVisible(), false);
      const employees = page.locator('summary', { hasText: 'Employees' });
      await employees.getByText('none of 3 chosen').waitFor();
      await employees.click();
      await page.getByLabel('employees:view').check();
      await page.getByLabel('employees:create').check();
      if (!isScriptless) await employees.getByText('2 of 3 chosen').waitFor();
      await page.getByRole('button', { name: 'Register the application' }).click();
      await page.getByRole('heading', { name: 'Acme: staff import is registered' }).waitFor();
      const clientSecret =
        (await page.getByRole('group', { name: 'Client secret' }).locator('code').textContent()) ?? '';
      const clientId = (await page.getByRole('main').locator('.copyable code').first().textContent()) ?? '';
      const token = await tokenFor(portal.url, { clientId, clientSecret });
      const answer = await fetch(`${portal.url}/services/api/x/users/v1/employees`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      assert.equal(answer.status, 200);
      if (!isScriptless) await isAccessible();
      await page.getByRole('link', { name: 'Go to Acme: staff import' }).click();
      await page.getByRole('link', { name: 'acme-staff-import' }).waitFor();
      assert.equal((await page.content()).includes(clientSecret), false);
    });
  }

  it('shows the problem beside the field, keeps the typed values, and creates no account', async (t) => {
    const portal = await startPortal(t);
    const { page, open } = await portal.signIn('administrator', { isBrowserless: true, expecting: [400, 409] });
    await open('/applications/new');
    await page.getByLabel('Name').fill('Shop');
    await page.getByRole('radio', { name: 'A new service account' }).check();
    await page.getByRole('textbox', { name: 'Service account' }).fill('shop');
    await page.locator('summary', { hasText: 'Advanced' }).click();
    await page.getByLabel('Token lifetime').fill('5');
    await page.getByRole('button', { name: 'Register the application' }).click();
    await page.getByRole('alert').getByText('Token lifetime').waitFor();
    await page.locator('#field-scopes-problem', { hasText: 'without a scope the program can do nothing' }).waitFor();
    await page.locator('summary', { hasText: 'Employees' }).click();
    await page.getByLabel('employees:view').check();
    assert.equal(await page.getByLabel('Name').inputValue(), 'Shop');
    assert.equal(await page.getByLabel('Token lifetime').getAttribute('aria-invalid'), 'true');
    const users = await portal.service.services.users.list('', 100);
    assert.deepEqual(
      users.filter(({ userName }) => userName === 'shop'),
      [],
    );
    assert.equal(await page.getByRole('radio', { name: 'A new service account' }).isChecked(), true);
    // An existing account is not taken over.
    await portal.service.services.users.create({ userName: 'shop' }, SERVICE);
    await page.getByLabel('Token lifetime').fill('600');
    await page.getByRole('button', { name: 'Register the application' }).click();
    const taken = page.locator('#field-accountName-problem');
    await taken.getByText('is already the name of a user: choose that user, or enter another name').waitFor();
    await page.getByRole('textbox', { name: 'Service account' }).fill('shop-2');
    await page.getByRole('button', { name: 'Register the application' }).click();
    await page.getByRole('link', { name: 'Go to Shop' }).click();
    await page.getByRole('link', { name: 'shop-2' }).waitFor();
  });

  it('is not registered until its user is chosen', async (t) => {
    const portal = await startPortal(t);
    const { page, open, isAccessible } = await portal.signIn('administrator', { expecting: [400] });
    const count = async (): Promise<number> => (await portal.service.services.applications.list('', 100)).length;
    const before = await count();
    await open('/applications/new');
    await page.getByLabel('Name').fill('Shop');
    await page.getByRole('radio', { name: 'An existing user' }).check();
    await page.getByRole('button', { name: 'Register the application' }).click();
    await page.locator('#field-scopes-problem').waitFor();
    await page.locator('#field-userId-problem').waitFor();
    assert.equal(await count(), before);
    await isAccessible();
  });

  it('is registered once, however often the page with its secret is loaded', async (t) => {
    const portal = await startPortal(t);
    const { services } = portal.service;
    const { page, open } = await portal.signIn('administrator', { isBrowserless: true, expecting: [404] });
    const named = async (): Promise<number> =>
      (await services.applications.list('', 100)).filter(({ name }) => name === 'Shop').length;
    await open('/applications/new');
    await page.getByLabel('Name').fill('Shop');
    await page.getByRole('radio', { name: 'A new service account' }).check();
    await page.getByRole('textbox', { name: 'Service account' }).fill('shop');
    await page.locator('summary', { hasText: 'Employees' }).click();
    await page.getByLabel('employees:view').check();
    await page.getByRole('button', { name: 'Register the application' }).click();
    const secret = page.getByRole('group', { name: 'Client secret' }).locator('code');
    const shown = await secret.textContent();
    await page.reload();
    await page.getByText('The client secret was shown once, and is not shown again.').waitFor();
    assert.ok(!(await page.content()).includes(shown ?? ''));
    const result = page.url();
    assert.equal(await named(), 1);
    await page.getByRole('link', { name: 'create a new secret' }).click();
    await page.getByRole('heading', { name: 'New secret for Shop' }).waitFor();
    await open(new URL(result).pathname);
    // Another session sees nothing, and after ten minutes no session does.
    const other = await portal.signIn('administrator', { isBrowserless: true, expecting: [404] });
    assert.equal(await other.open(new URL(result).pathname), 404);
    assert.ok(!(await other.page.content()).includes(shown ?? ''));
    portal.service.advance(10 * 60_000);
    await page.reload();
    await page.getByRole('heading', { name: 'No longer shown' }).waitFor();
    assert.ok(!(await page.content()).includes(shown ?? ''));
    assert.equal(await named(), 1);
  });

  it('acts as any user by name, offered or not, and says beside the field which it cannot', async (t) => {
    const portal = await startPortal(t);
    const { services } = portal.service;
    const { id: hrId } = await services.users.create({ userName: 'hr', displayName: 'Human resources' }, SERVICE);
    await services.users.create({ userName: 'gone', active: false }, SERVICE);
    const { page, open } = await portal.signIn('administrator', { isBrowserless: true, expecting: [400] });
    await open('/applications/new');
    const actsAs = page.locator('#field-userId');
    await page.getByRole('radio', { name: 'An existing user' }).check();
    const offered = page.locator('datalist option');
    assert.equal(await offered.and(page.locator('[value="hr"]')).textContent(), 'Human resources, service');
    assert.equal(await offered.and(page.locator('[value="gone"]')).count(), 0);
    await page.getByLabel('Name').fill('Shop');
    await page.locator('summary', { hasText: 'Employees' }).click();
    await page.getByLabel('employees:view').check();
    const register = page.getByRole('button', { name: 'Register the application' });
    for (const [userName, problem] of [
      ['nobody', 'User is not the name of a user.'],
      ['gone', 'User is the name of a user that is not active.'],
    ] as const) {
      await actsAs.fill(userName);
      await register.click();
      await page.locator('#field-userId-problem', { hasText: problem }).waitFor();
      assert.equal(await actsAs.inputValue(), userName);
    }
    await actsAs.fill(' hr ');
    await register.click();
    await page.getByRole('link', { name: 'Go to Shop' }).click();
    const [application] = await services.applications
      .list('', 100)
      .then((all) => all.filter(({ name }) => name === 'Shop'));
    assert.equal(application?.userId, hrId);
    // The form of the change shows its user, also a deactivated one.
    await services.users.patch(hrId, { active: false }, SERVICE);
    await open(`/applications/${application?.id}/edit`);
    assert.equal(await actsAs.inputValue(), 'hr');
    await page.getByLabel('Name').fill('The shop');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The shop is saved.').waitFor();
    // A scope is marked before it is chosen if its account lacks the permission.
    await services.users.patch(hrId, { active: true, permissions: ['employees:view'] }, SERVICE);
    await open(`/applications/${application?.id}/edit`);
    const scope = (name: string) => page.locator('.choice', { has: page.getByLabel(name, { exact: true }) });
    assert.equal(await scope('employees:view').locator('.choice-lack').count(), 0);
    assert.equal(await scope('employees:edit').locator('.choice-lack').textContent(), 'hr lacks the permission');
    await actsAs.fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('#field-userId-problem').waitFor();
  });

  it('finds its user among many by a part of the name, and keeps its scopes', async (t) => {
    const portal = await startPortal(t);
    const { services } = portal.service;
    await services.users.create({ userName: 'needle', displayName: 'Ada Lovelace' }, SERVICE);
    for (let at = 0; at < USERS_SUGGESTED; at += 1) await services.users.create({ userName: `hay-${at}` }, SERVICE);
    await services.products.create(
      { name: 'Shop API', scopes: [{ name: 'orders:view', description: 'See orders.' }], rules: [] },
      SERVICE,
    );
    const { page, open, isAccessible } = await portal.signIn('administrator');
    await open('/applications/new');
    await page.getByRole('radio', { name: 'An existing user' }).check();
    const offered = page.locator('datalist option');
    assert.equal(await offered.count(), USERS_SUGGESTED);
    assert.equal(await offered.and(page.locator('[value="needle"]')).count(), 0);
    await page.locator('#field-userId').pressSequentially('LOVE');
    await page.locator('datalist option[value="needle"]').waitFor({ state: 'attached' });
    assert.equal(await offered.count(), 1);
    await page.locator('#field-userId').fill('needle');
    await page.getByLabel('Name').fill('Shop');
    // The scopes of Sallyport itself are folded.
    assert.equal(await page.getByLabel('employees:view').isVisible(), false);
    await page.getByLabel('orders:view').check();
    await isAccessible();
    await page.getByRole('button', { name: 'Register the application' }).click();
    const address = await page.getByRole('link', { name: 'Go to Shop' }).getAttribute('href');
    const plain = await portal.signIn('administrator', { isBrowserless: true, expecting: [400] });
    await plain.open(address ?? '');
    await plain.page.getByText('Valid tokens').waitFor();
    await plain.page.getByRole('link', { name: 'Change' }).click();
    const fold = plain.page.locator('summary', { hasText: 'Shop API' });
    await fold.getByText('1 of 1 chosen').waitFor();
    await plain.page.getByLabel('orders:view').uncheck();
    await plain.page.getByRole('button', { name: 'Save' }).click();
    await plain.page.locator('#field-scopes-problem').waitFor();
  });

  it('gets a new secret while the old one still works, and loses its tokens and itself', async (t) => {
    const portal = await startPortal(t);
    const { services } = portal.service;
    const user = await services.users.create({ userName: 'shop', permissions: ['employees:view'] }, SERVICE);
    const made = await services.applications.create(
      { name: 'Shop', userId: user.id, scopes: ['employees:view'] },
      SERVICE,
    );
    const before = { clientId: made.application.clientId, clientSecret: made.clientSecret };
    const { page, open } = await portal.signIn('administrator', { isBrowserless: true, expecting: [400] });
    await open(`/applications/${made.application.id}`);
    await page.getByRole('link', { name: 'New secret' }).click();
    const chosen = page.locator('input[name="overlapSeconds"]:checked');
    assert.equal(await chosen.getAttribute('value'), '86400', 'both secrets work for a day');
    await page.getByRole('button', { name: 'Create a new secret' }).click();
    const clientSecret = (await page.getByRole('group', { name: 'Client secret' }).locator('code').textContent()) ?? '';
    const [old, fresh] = await Promise.all([
      tokenFor(portal.url, before),
      tokenFor(portal.url, { ...before, clientSecret }),
    ]);
    await page.getByRole('link', { name: 'Go to Shop' }).click();
    await page.getByText('two secrets').waitFor();
    await page.getByRole('link', { name: 'Revoke all tokens' }).click();
    await page.getByRole('button', { name: 'Revoke all tokens' }).click();
    await page.getByText('All tokens are revoked.').waitFor();
    for (const token of [old, fresh]) {
      const answer = await fetch(`${portal.url}/services/api/x/users/v1/employees`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      assert.equal(answer.status, 401);
    }
    await page.getByRole('button', { name: 'Deactivate Shop' }).click();
    await page.getByText('The application is inactive').waitFor();
    await assert.rejects(tokenFor(portal.url, { ...before, clientSecret }));
    await page.getByRole('link', { name: 'Delete the application' }).click();
    await page.getByRole('button', { name: 'Delete the application' }).click();
    await page.getByText('The application Shop is deleted.').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Shop' }).count(), 0);
  });

  it('offers a viewer no button that changes anything', async (t) => {
    const portal = await startPortal(t);
    const [application] = await portal.service.services.applications.list('', 1);
    const { page, open } = await portal.signIn('viewer', { isBrowserless: true });
    for (const path of [
      '/applications',
      `/applications/${application?.id}`,
      '/users',
      `/users/${application?.userId}`,
      '/products',
    ]) {
      assert.equal(await open(path), 200);
      assert.equal(await page.locator('main form[method="post"]').count(), 0, path);
      assert.equal(
        await page.locator('main a[href$="/new"], main a[href$="/edit"], main a[href$="/delete"]').count(),
        0,
        path,
      );
    }
  });
});

describe('users', () => {
  it('are added, invited by a link that sets a password, and signed in by that', async (t) => {
    const portal = await startPortal(t);
    const { page, open, isAccessible } = await portal.signIn('administrator');
    await open('/users');
    await page.getByRole('link', { name: 'Add a user' }).click();
    await page.getByLabel('User name').fill('grace');
    await page.getByLabel('Operator').check();
    await page.getByText('Advanced: what applications may do as this user').click();
    await page.getByLabel('Only these').check();
    await page.getByLabel('Divisions, one per line').fill('sales\nlegal');
    await page.getByLabel('Invite the user now').uncheck();
    await page.getByRole('button', { name: 'Add the user' }).click();
    await page.getByText('grace is added.').waitFor();
    await page.getByText('sales, legal').waitFor();
    await isAccessible();
    const plain = await portal.signIn('administrator', { isBrowserless: true });
    await plain.open(new URL(page.url()).pathname);
    await plain.page.getByRole('button', { name: 'Invite: grace' }).click();
    const invitation = plain.page.getByRole('group', { name: 'Invitation' });
    const link = (await invitation.locator('code').textContent()) ?? '';
    const guest = await portal.visit();
    await guest.page.goto(link);
    await guest.page.getByLabel('Password', { exact: true }).fill('a pony in a tall hat');
    await guest.page.getByLabel('Password again').fill('a pony in a tall hat');
    await guest.page.getByRole('button', { name: 'Set password' }).click();
    await guest.page.getByText('Your password is set, and you are signed in.').waitFor();
    assert.equal(guest.page.url(), `${portal.url}/`);
    await plain.open('/users?q=grace');
    await plain.page.getByRole('link', { name: 'grace' }).click();
    await plain.page.getByText('in one browser').waitFor();
    await plain.page.getByRole('button', { name: 'Sign out everywhere: grace' }).click();
    await plain.page.getByText('Not signed in now.').waitFor();
    await guest.page.waitForURL(/sign-in/);
  });

  it('are changed, and all divisions are theirs again', async (t) => {
    const portal = await startPortal(t);
    const { services } = portal.service;
    const { id } = await services.users.create(
      { userName: 'hr', permissions: ['employees:view', 'old:permission'], constraints: { divisions: ['sales'] } },
      SERVICE,
    );
    const { page, open } = await portal.signIn('administrator', { isBrowserless: true });
    await open(`/users/${id}/edit`);
    await page.getByLabel('All divisions').check();
    await page.getByLabel('employees:create').check();
    await page.getByLabel('Further permissions').fill('orders:view');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('hr is saved.').waitFor();
    const user = await services.users.get(id);
    assert.deepEqual(user.permissions, ['employees:create', 'employees:view', 'old:permission', 'orders:view']);
    assert.deepEqual(user.constraints, {});
  });

  it('show the problem of an invalid permission once, beside its field', async (t) => {
    const portal = await startPortal(t);
    const { page, open } = await portal.signIn('administrator', { expecting: [400] });
    await open('/users/new');
    await page.getByLabel('User name').fill('grace');
    // People need no permissions, so they are folded.
    await page.getByText('Advanced: what applications may do as this user').click();
    await page.locator('summary', { hasText: 'Employees' }).click();
    await page.getByLabel('employees:view').check();
    await page.getByLabel('Further permissions').fill('orders:view orders!');
    await page.getByRole('button', { name: 'Add the user' }).click();
    const problem = /Further permissions “orders!” must be 1 to 128 letters/;
    await page.getByRole('alert').getByRole('link', { name: problem }).click();
    const field = page.getByLabel('Further permissions');
    assert.equal(await field.evaluate((element) => element.matches(':focus')), true);
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
    assert.match((await page.locator('p.problem').allInnerTexts()).join('\n'), /^Further permissions “orders!” .*$/);
    // One of the boxes, as only a form made by hand has it: said at the first group, and not at every one.
    await page.evaluate(`document.querySelector('input[value="employees:view"]').value = 'employees!'`);
    await field.fill('');
    await page.getByRole('button', { name: 'Add the user' }).click();
    await page.locator('#field-permissions-problem').waitFor();
    assert.equal(await page.locator('p.problem').count(), 1);
  });

  it('cannot take the role, the activity or the existence of their own account away', async (t) => {
    const portal = await startPortal(t);
    const { page, open } = await portal.signIn('administrator', { expecting: [400] });
    await open('/users');
    assert.ok((await page.evaluate<number>(APART)) < 1.5, 'the text of a badge is on the line of the name beside it');
    await page.getByRole('row').filter({ hasText: 'you' }).getByRole('link').first().click();
    assert.equal(await page.getByRole('button', { name: /Deactivate/ }).count(), 0);
    assert.equal(await page.getByRole('link', { name: 'Delete the user' }).count(), 0);
    await page.getByRole('link', { name: 'Change' }).click();
    await page.getByLabel('Viewer').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('ask another administrator').waitFor();
  });
});

/** The pixels between the bottoms of a name and of the badge beside it. */
const APART = `(() => {
  const bottom = (text) => {
    const range = document.createRange();
    range.selectNode(text);
    return range.getBoundingClientRect().bottom;
  };
  const badge = [...document.querySelectorAll('.badge')].find(({ textContent }) => textContent === 'you');
  return Math.abs(bottom(badge.lastChild) - bottom(badge.parentElement.querySelector('a').firstChild));
})()`;

describe('API products', () => {
  it('are added with rules, tested by asking who could call, changed and deleted', async (t) => {
    const portal = await startPortal(t);
    const { page, open, isAccessible } = await portal.signIn('administrator', { expecting: [400, 409] });
    await open('/products');
    await page.getByRole('link', { name: 'Add a product' }).click();
    await page.getByLabel('Name').fill('Shop');
    await page.getByLabel('Scope', { exact: true }).first().fill('orders:view');
    await page.getByLabel('What it allows').first().fill('See orders.');
    await page.getByLabel('Methods').first().fill('GET');
    await page.getByLabel('Path').first().fill('/shop/{id');
    await page.getByLabel('Scope', { exact: true }).nth(1).fill('orders:view');
    await page.getByRole('button', { name: 'Add the product' }).click();
    await page.getByRole('alert').getByText('Rule 1, path:').waitFor();
    assert.equal(await page.locator('input[aria-invalid]').count(), 1, 'the problem is at its field alone');
    assert.match(await page.locator('#field-rules-0-problem').innerText(), /^Path /);
    assert.equal(await page.locator('[data-row]').count(), 2, 'a refused form has no more rows than before');
    await isAccessible();
    await page.getByLabel('Path').first().fill('/shop/orders/{id}');
    await page.getByRole('button', { name: 'Add the product' }).click();
    await page.getByText('Shop is added.').waitFor();
    const { admin } = portal.service;
    const near = await succeeded<{ id: string }>(
      admin.post('users', { userName: 'stock', role: 'service', permissions: ['orders:view'] }),
    );
    await succeeded(admin.post('applications', { name: 'Stock sync', userId: near.id, scopes: [] }));
    await page.getByRole('link', { name: 'Who could call this?' }).last().click();
    await page.getByLabel('Path').fill('/shop/orders/17');
    await page.getByText('No application holds the scope').waitFor();
    // The application that misses the least comes first.
    const others = page.getByRole('region', { name: 'Applications without the scope' }).locator('tbody tr');
    assert.match(await others.first().innerText(), /Stock sync[\s\S]*stock\s+the scope orders:view$/);
    assert.match(await others.nth(1).innerText(), /the scope orders:view, the permission orders:view of the user /);
    await page.waitForURL(/path=%2Fshop%2Forders%2F17/);
    await isAccessible();
    await page.getByLabel('Path').fill('/shop/else');
    await page.getByText('no rule of the API catalogue names this', { exact: false }).waitFor();
    const plain = await portal.signIn('administrator', { isBrowserless: true });
    await plain.open('/products');
    await plain.page.getByRole('link', { name: 'Shop' }).click();
    await plain.page.getByRole('link', { name: 'Change' }).click();
    await plain.page.getByLabel('Name').fill('The shop');
    await plain.page.getByRole('button', { name: 'Save' }).click();
    await plain.page.getByText('The shop is saved.').waitFor();
    await plain.page.getByRole('link', { name: 'Delete the product' }).click();
    await plain.page.getByRole('button', { name: 'Delete the product' }).click();
    await plain.page.getByText('The shop is deleted.').waitFor();
  });

  it('that are built in are shown and not changed', async (t) => {
    const portal = await startPortal(t);
    const { page, open } = await portal.signIn('administrator', { isBrowserless: true });
    await open('/products');
    await page.getByRole('link', { name: 'Employees', exact: true }).click();
    await page.getByText('built in').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Change', exact: true }).count(), 0);
  });
});
