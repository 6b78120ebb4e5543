import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import * as openpgp from 'openpgp';
import {
  importKey,
  makeEndpoint,
  makeEventType,
  makeWebhook,
  publish,
  sharedCertificates,
  startWebhook,
} from '../support/journey.ts';
import {
  borrow,
  documentedReceiver,
  type Project,
  type RunningReceiver,
  receiverProject,
  runReceiver,
  typeErrors,
} from '../support/receiver-package.ts';
import { startService } from '../support/service.ts';
import { API_KEY, SECRET } from '../support/signed-request.ts';
import { startTlsFront } from '../support/tls-front.ts';

/** Serves a fetch-style program, as `deno serve`, Bun and workers do. */
const SERVE = `
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
const { default: { fetch } } = await import('./program.ts');
const server = createServer(async (request, response) => {
  const { method, url, headers } = request;
  const init = { method, headers, ...(method === 'POST' && { body: Readable.toWeb(request), duplex: 'half' }) };
  const reply = await fetch(new Request('https://hooks.example.com' + url, init));
  response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
});
server.listen(0, '127.0.0.1', () => console.log('listening on port ' + server.address().port));
`;

describe('the program of docs/receive-webhooks.md for', () => {
  let project: Project;
  let key: { readonly publicKey: string; readonly privateKey: string };
  before(async () => {
    project = receiverProject();
    for (const name of ['express', 'fastify', 'openpgp', 'undici-types', '@types']) borrow(project, name);
    const made = await openpgp.generateKey({ type: 'ecc', userIDs: { email: 'shop@example.com' } });
    key = made;
    writeFileSync(join(project.folder, 'key.asc'), made.privateKey);
  });

  async function start(t: TestContext, heading: string): Promise<RunningReceiver> {
    const code = documentedReceiver(heading);
    writeFileSync(join(project.folder, 'program.ts'), code);
    writeFileSync(join(project.folder, 'serve.js'), SERVE);
    const options = { lib: ['es2023'], types: ['node'], exactOptionalPropertyTypes: true, skipLibCheck: true };
    assert.equal(typeErrors(project, 'program.ts', options), '');
    const env = { WEBHOOK_SECRET: SECRET, WEBHOOK_API_KEY: API_KEY, WEBHOOK_KEY_FILE: 'key.asc' };
    return runReceiver(t, project, code.includes('export default') ? 'serve.js' : 'program.ts', env);
  }

  const encrypted = { 'Encrypted deliveries': { encryptionKeyName: 'shop-2026' } };
  const headings = ['node:http', 'Express', 'Fastify', 'Deno, Bun, Hono, workers', ...Object.keys(encrypted)];
  for (const heading of headings) {
    it(`${heading} answers the challenge and accepts deliveries`, async (t) => {
      const receiver = await start(t, heading);
      const { admin } = await startService(t, { ca: sharedCertificates().ca });
      const url = `https://localhost:${await startTlsFront(t, sharedCertificates().server, receiver.port)}/hooks/sallyport`;
      const wanted = { tokenChallenge: true, contentEncoding: 'gzip' };
      const endpoint = await makeEndpoint(admin, { url, secret: SECRET, apiKey: API_KEY }, wanted);
      assert.ok(endpoint.verified, JSON.stringify(endpoint.lastVerification));
      await makeEventType(admin, 'order.created');
      await importKey(admin, 'shop-2026', key.publicKey);
      const more = heading in encrypted ? { encryptionKeyName: 'shop-2026' } : {};
      await startWebhook(admin, await makeWebhook(admin, endpoint, ['order.created'], more));
      const ids = await publish(admin, 'order.created', { orderId: 42 }, { orderId: 43 });
      const lines = [await receiver.nextLine(), await receiver.nextLine()].sort();
      assert.deepEqual(lines, [`${ids[0]}: order 42`, `${ids[1]}: order 43`].sort());

      const stranger = { method: 'POST', headers: { 'x-api-key': 'wrong' }, body: '{}' };
      const reply = await fetch(`http://127.0.0.1:${receiver.port}/hooks/sallyport`, stranger);
      assert.deepEqual([reply.status, await reply.text()], [401, 'wrong_api_key: x-api-key is wrong']);
      assert.equal(await receiver.nextLine(), 'refused: wrong_api_key: x-api-key is wrong');
    });
  }
});
