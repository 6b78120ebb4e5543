/** The configuration of Apache in docs/how-to/introspect-tokens.md, run as it is. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { cleanUp } from '../../support/cleanup.ts';
import { succeeded, tokenFor } from '../../support/client.ts';
import { type RunningProxy, startApache } from '../../support/proxies.ts';
import { startService } from '../../support/service.ts';

const PAGE = new URL('../../../docs/how-to/introspect-tokens.md', import.meta.url);
const MODULES = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'oauth2', 'dir'];

test('Apache with mod_oauth2 passes tokens with the scope, and refuses all others', async (t) => {
  const { admin, url, credentials } = await startService(t);
  const scopes = ['orders:view', 'orders:edit'];
  await succeeded(admin.post('products', { name: 'Shop', scopes: scopes.map((name) => ({ name })), rules: [] }));
  const user = await succeeded<{ id: string }>(admin.post('users', { userName: 'shop', permissions: scopes }));
  const application = { name: 'Shop', userId: user.id, scopes };
  const client = await succeeded<{ clientId: string; clientSecret: string }>(admin.post('applications', application));
  const apache = await serve(t, url, credentials);
  const status = async (token: string | null): Promise<number> => {
    // The client tries to set the header that the condition reads.
    const headers = { OAUTH2_CLAIM_scope: 'orders:view', ...(token !== null && { Authorization: `Bearer ${token}` }) };
    const answer = await fetch(`${apache.url}/shop/`, { headers });
    await answer.arrayBuffer();
    return answer.status;
  };
  assert.equal(await status(await tokenFor(url, client, 'orders:view')), 200, apache.log());
  assert.equal(await status(await tokenFor(url, client, 'orders:edit orders:view')), 200);
  assert.equal(await status(await tokenFor(url, client, 'orders:edit')), 401);
  assert.equal(await status('spt_made-up'), 401);
  assert.equal(await status(null), 401);
});

async function serve(
  t: Parameters<typeof cleanUp>[0],
  sallyport: string,
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
): Promise<RunningProxy> {
  const root = mkdtempSync(join(tmpdir(), 'apache-root-'));
  cleanUp(t, () => rmSync(root, { recursive: true, force: true }));
  // Its workers run as another user.
  chmodSync(root, 0o755);
  mkdirSync(join(root, 'shop'));
  writeFileSync(join(root, 'shop', 'index.html'), 'an order');
  const block = /```apache\n([\s\S]*?)```/.exec(readFileSync(PAGE, 'utf8'))?.[1] ?? '';
  const filled = block
    .replace('http://127.0.0.1:8080', sallyport)
    .replace('spc_…', clientId)
    .replace('sps_…', clientSecret);
  const apache = await startApache(MODULES, `DocumentRoot ${root}\n${filled}`);
  cleanUp(t, apache.stop);
  return apache;
}
