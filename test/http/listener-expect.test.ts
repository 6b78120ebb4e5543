/** `Expect`: Node's own replies have no error body, so Node sends only the interim response. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { errorBodySchema } from '../../src/http/error-body.ts';
import { tokenFor } from '../support/client.ts';
import { sendRaw } from '../support/raw-request.ts';
import { startService } from '../support/service.ts';

const TOKEN = '/services/api/oauth2/token';

it('an unknown expectation is ignored, and the request is answered', async (t) => {
  const { url, credentials, log } = await startService(t);
  const port = Number(new URL(url).port);
  const headers = ['Expect: 200-ok', 'Content-Type: application/json'];
  const body = JSON.stringify({ ...credentials, grantType: 'client_credentials' });
  const taken = await sendRaw(port, TOKEN, { method: 'POST', headers, body });
  assert.equal(taken.status, 200, taken.text);

  const refused = await sendRaw(port, '/services/api/nowhere', { headers });
  assert.equal(refused.status, 404, refused.text);
  const { error } = errorBodySchema.parse(JSON.parse(refused.text));
  const line = await log.line(({ errorId }) => errorId === error.errorId);
  assert.equal(line.status, 404);
});

it('100-continue gets its interim answer, and then the answer', async (t) => {
  const { url, credentials } = await startService(t);
  assert.ok((await tokenFor(url, credentials)).startsWith('spt_'));
  const body = JSON.stringify({ ...credentials, grantType: 'client_credentials' });
  const headers = ['Expect: 100-continue', 'Content-Type: application/json'];
  const answer = await sendRaw(Number(new URL(url).port), TOKEN, { method: 'POST', headers, body });
  assert.equal(answer.status, 100);
  assert.match(answer.text, /^HTTP\/1\.1 200 OK\r\n/);
});
