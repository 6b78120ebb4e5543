import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { EXPIRY_WARNING_MS } from '../../src/domain/limits.ts';
import { expiryTone, GNUPG_COMMANDS } from '../../src/portal/keys/key-pages.ts';
import type { KeyView } from '../../src/webhooks/keys.ts';
import { succeeded } from '../support/client.ts';
import { startDeliverPortal } from '../support/deliver-portal.ts';
import { importKey, makeEndpoint, makeEventType, makeWebhook } from '../support/journey.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { lacking } from '../support/programs.ts';
import { startService } from '../support/service.ts';
import { sharedCertificates } from '../support/tls.ts';
import { type PgpVectorName, pgpVector } from '../support/vectors.ts';

const DAY_MS = 86_400_000;

describe('importing a key', () => {
  it('accepts a file or pasted text, and shows whose key it is', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const { page } = await openAs('administrator', '/keys');
    await page.getByRole('heading', { name: 'Import your first key' }).waitFor();
    await page.getByRole('link', { name: 'Import a key' }).click();
    await page.getByLabel('Name').fill('hr-2027');
    const buffer = Buffer.from(pgpVector('rsa4096'));
    await page.getByLabel('or from a file').setInputFiles({ name: 'hr.asc', mimeType: 'text/plain', buffer });
    await page.getByRole('button', { name: 'Import the key' }).click();
    await page.getByText('The key hr-2027 is imported.').waitFor();
    await page.getByText('rsa4096').waitFor();
    await page.getByText(/^([0-9A-F]{4} ){9}[0-9A-F]{4}$/).waitFor();
  });

  const refusals: readonly (readonly [PgpVectorName | 'text', RegExp])[] = [
    ['expired', /expired on/],
    ['revoked', /is revoked/],
    ['sign-only', /no subkey that can encrypt/],
    ['weak-rsa1024', /RSA with 1024 bits is too weak/],
    ['text', /is not an armored PGP public key/],
  ];
  it('says beside the field why one is refused, each with its own reason', async (t) => {
    const { openAs, admin } = await startDeliverPortal(t);
    const { page } = await openAs('administrator', '/keys/new', { expecting: [400], isBrowserless: true });
    for (const [name, says] of refusals) {
      await page.getByLabel('Name').fill('partner');
      await page.getByLabel('Public key').fill(name === 'text' ? 'no key' : pgpVector(name));
      await page.getByRole('button', { name: 'Import the key' }).click();
      const problem = page.locator('#field-publicKey-problem').filter({ hasText: says });
      await problem.waitFor();
      assert.equal(await page.getByLabel('Name').inputValue(), 'partner');
    }
    assert.deepEqual((await admin.get<{ items: unknown[] }>('keys')).body.items, []);
  });

  it('puts no private key back into the page that was pasted by mistake', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const { page } = await openAs('administrator', '/keys/new', { isBrowserless: true, expecting: [400] });
    const { privateKey } = await pgpKeyPair();
    await page.getByLabel('Name').fill('ours');
    await page.getByLabel('Public key').fill(privateKey);
    await page.getByRole('button', { name: 'Import the key' }).click();
    await page.getByText('Keep it secret, and give its public key instead').first().waitFor();
    assert.equal(await page.getByLabel('Public key').inputValue(), '');
    assert.ok(!(await page.content()).includes(privateKey.slice(100, 160)));
  });

  it('refuses a name that is taken', async (t) => {
    const { openAs, admin } = await startDeliverPortal(t);
    await importKey(admin, 'hr', pgpVector('curve25519'));
    const { page } = await openAs('administrator', '/keys/new', { isBrowserless: true, expecting: [409] });
    await page.getByLabel('Name').fill('hr');
    await page.getByLabel('Public key').fill(pgpVector('rsa4096'));
    await page.getByRole('button', { name: 'Import the key' }).click();
    await page.locator('#field-name-problem').getByText('Name is taken: another key has "hr".').waitFor();
  });
});

describe('the keys', () => {
  it('are listed with their end, drawn and in words, beside client certificates, and with their webhooks', async (t) => {
    const { portal, openAs, admin, receiver } = await startDeliverPortal(t);
    for (const [name, lastsDays] of [
      ['soon', 3],
      ['month', 20],
      ['later', 200],
      ['over', 1],
    ] as const) {
      await importKey(admin, name, (await pgpKeyPair({ lastsDays })).publicKey);
    }
    await importKey(admin, 'for-ever', pgpVector('rsa4096'));
    const clientCertificate = sharedCertificates().issue({ names: ['us.example'], days: 25 });
    const endpoint = await makeEndpoint(admin, receiver.endpoint('/in'), { name: 'Shop', clientCertificate });
    await makeWebhook(admin, endpoint, ['employee.*'], { name: 'People', encryptionKeyName: 'soon' });
    portal.service.advance(1.5 * DAY_MS);
    // The script would tell by the browser's own clock.
    const { page } = await openAs('viewer', '/keys', { isBrowserless: true });
    const drawn = page.getByRole('listitem').filter({ has: page.locator('svg.expiry-bar') });
    const words = (await drawn.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
    assert.deepEqual(words, [
      'key over expired 12 hours ago',
      'key soon in 1 day',
      'key month in 18 days',
      'client certificate of Shop in 23 days',
      'key later in 7 months',
    ]);
    const lengths = await page
      .locator('svg.expiry-bar .expiry-left')
      .evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute('width'))));
    assert.ok(
      lengths.every((length, at) => length >= (lengths[at - 1] ?? 0)),
      String(lengths),
    );
    assert.equal(lengths[0], 0);
    const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
    await row('over').getByText('expired').waitFor();
    await row('month').getByText('expiring').waitFor();
    await row('for-ever').getByText('never').waitFor();
    await row('soon').getByRole('link', { name: 'People' }).click();
    await page.getByRole('heading', { name: 'People' }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'over', exact: true }).first().click();
    await page.getByText('It has expired.').waitFor();
  });

  it('are renamed, and webhooks follow; are replaced; and stay while webhooks use them', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    const { id } = await importKey(admin, 'hr', (await pgpKeyPair({ lastsDays: 10 })).publicKey);
    await makeEventType(admin, 'order.created');
    const endpoint = await makeEndpoint(admin, receiver.endpoint('/in'));
    const webhook = await makeWebhook(admin, endpoint, ['order.created'], { name: 'Orders', encryptionKeyName: 'hr' });
    const { page, open } = await openAs('administrator', `/keys/${id}`, { isBrowserless: true, expecting: [400] });
    await page.getByText('It expires soon.').waitFor();
    const removal = page.locator('#delete');
    await removal.getByText('A webhook encrypts with it, so it cannot be deleted.').waitFor();
    assert.deepEqual(await removal.getByRole('link').allInnerTexts(), ['Orders']);
    await page.getByRole('link', { name: 'Change' }).click();
    await page.getByLabel('Name').fill('hr-2027');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The key hr-2027 is saved.').waitFor();
    await page.getByRole('link', { name: 'Orders' }).first().waitFor();
    await page.getByRole('link', { name: 'Change' }).click();
    await page.getByLabel('Public key').fill('nothing');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('#field-publicKey-problem').waitFor();
    await page.getByLabel('Public key').fill(pgpVector('rsa4096'));
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('rsa4096').waitFor();
    const { algorithm, expiresAt } = await succeeded<KeyView>(admin.get(`keys/${id}`));
    assert.deepEqual([algorithm, expiresAt], ['rsa4096', null]);

    await open(`/keys/${id}/delete`);
    await page.getByText('A webhook uses it, so it cannot be deleted.').waitFor();
    await succeeded(admin.delete(`webhooks/${webhook.id}`));
    await open(`/keys/${id}/delete`);
    await page.getByRole('button', { name: 'Delete the key' }).click();
    await page.getByText('The key hr-2027 is deleted.').waitFor();
  });
});

it('how near an end is has three tones: the warnings begin 30 days before', () => {
  const now = Date.now();
  const tones = [-1, 0, 7 * DAY_MS, 7 * DAY_MS + 1, EXPIRY_WARNING_MS, EXPIRY_WARNING_MS + 1].map((left) =>
    expiryTone(now + left, now),
  );
  assert.deepEqual(tones, ['negative', 'negative', 'negative', 'caution', 'caution', 'positive']);
});

it('the commands of the page make a key that can be imported', { skip: lacking('gpg') }, async (t) => {
  const service = await startService(t);
  const { token } = await newSession(service, 'administrator');
  const { text } = await request(`${service.url}/keys`, { token });
  const home = mkdtempSync(join(tmpdir(), 'gpg-'));
  t.after(() => {
    execFileSync('gpgconf', ['--homedir', home, '--kill', 'gpg-agent']);
    rmSync(home, { recursive: true, force: true });
  });
  // It asks a person for the passphrase.
  const quiet = `gpg() { command gpg --homedir '${home}' --quiet --batch --pinentry-mode loopback --passphrase '' "$@"; }`;
  let printed = '';
  for (const { command } of GNUPG_COMMANDS) {
    assert.ok(text.includes(command), command);
    printed = execFileSync('sh', {
      input: `${quiet}\n${command}\n`,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  }
  const made = await importKey(service.admin, 'ours', printed);
  assert.ok(made.expiresAt !== null);
});
