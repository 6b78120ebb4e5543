import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import * as openpgp from 'openpgp';
import { importKey, makeEndpoint, makeEventType, makeWebhook, publish, startWebhook } from '../support/journey.ts';
import {
  borrow,
  documentedReceiver,
  type Project,
  receiverProject,
  runReceiver,
  typeErrors,
} from '../support/receiver-package.ts';
import { startService } from '../support/service.ts';
import { API_KEY, SECRET } from '../support/signed-request.ts';
import { sharedCertificates } from '../support/tls.ts';
import { startTlsFront } from '../support/tls-front.ts';

/** Serves a fetch-style program, as `deno serve`, Bun and workers do. */
const SERVE = `
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
const { default: { fetch } } = await import(process.argv[2]);
const server = createServer(async (request, response) => {
  const { method, url, headers } = request;
  const init = { method, headers, ...(method === 'POST' && { body: Readable.toWeb(request), duplex: 'half' }) };
  const reply = await fetch(new Request('https://hooks.example.com' + url, init));
  response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
});
server.listen(0, '127.0.0.1', () => console.log('listening on port ' + server.address().port));
`;

/** The programs of the page, by heading, and their files. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'node:http': 'node.ts',
  Express: 'express.mjs',
  Fastify: 'fastify.ts',
  'Deno, Bun, Hono, workers': 'fetch.ts',
  'Encrypted deliveries': 'encrypted.ts',
};

describe('the documented program for', () => {
  let project: Project;
  let key: { readonly publicKey: string; readonly privateKey: string };
  before(async () => {
    project = receiverProject();
    for (const name of ['express', 'fastify', 'openpgp', 'undici-types', '@types']) borrow(project, name);
    const made = await openpgp.generateKey({ type: 'ecc', userIDs: { email: 'shop@example.com' } });
    key = made;
    writeFileSync(join(project.folder, 'key.asc'), made.privateKey);
    writeFileSync(join(project.folder, 'serve.js'), SERVE);
    for (const [heading, file] of Object.entries(PROGRAMS))
      writeFileSync(join(project.folder, file), documentedReceiver(heading));
  });

  it('every server has correct types', () => {
    const options = { lib: ['es2023'], types: ['node'], exactOptionalPropertyTypes: true, skipLibCheck: true };
    const typed = Object.values(PROGRAMS).filter((file) => file.endsWith('.ts'));
    assert.equal(typeErrors(project, typed, options), '');
  });

  const env = { WEBHOOK_SECRETS: SECRET, WEBHOOK_API_KEYS: API_KEY, WEBHOOK_KEY_FILE: 'key.asc' };
  for (const [heading, file] of Object.entries(PROGRAMS)) {
    it(`${heading} answers the challenge and accepts deliveries`, async (t) => {
      const args = file === 'fetch.ts' ? ['serve.js', './fetch.ts'] : [file];
      const receiver = await runReceiver(t, project, args, env);
      const { admin } = await startService(t, { ca: sharedCertificates().ca });
      const url = `https://localhost:${await startTlsFront(t, sharedCertificates().server, receiver.port)}/hooks/sallyport`;
      const wanted = { tokenChallenge: true, contentEncoding: 'gzip' };
      const endpoint = await makeEndpoint(admin, { url, secret: SECRET, apiKey: API_KEY }, wanted);
      assert.ok(endpoint.verified, JSON.stringify(endpoint.lastVerification));
      await makeEventType(admin, 'order.created');
      await importKey(admin, 'shop-2026', key.publicKey);
      const more = file === 'encrypted.ts' ? { encryptionKeyName: 'shop-2026' } : {};
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
