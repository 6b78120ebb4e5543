/** Tests every program of docs/receivers with the vectors and with deliveries of a real service. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import * as openpgp from 'openpgp';
import type { AttemptView } from '../../src/webhooks/deliveries.ts';
import { asymmetricSignatures, ed25519Key, ed25519PublicKey } from '../../src/wire/ed25519.ts';
import { succeeded } from './client.ts';
import { deliveryOf, importKey, makeEndpoint, makeEventType, makeWebhook, publish, startWebhook } from './journey.ts';
import {
  gnupgWith,
  missingOf,
  outputOf,
  type ReadyProgram,
  type ReceiverProgram,
  type RunningProgram,
  startProgram,
} from './receiver-programs.ts';
import { sendRaw } from './receiver-transports.ts';
import { startService } from './service.ts';
import { API_KEY, SECRET, signedRequest } from './signed-request.ts';
import { sharedCertificates } from './tls.ts';
import { startTlsFront } from './tls-front.ts';
import { ed25519Vectors, type RequestVector, requestVectors } from './vectors.ts';

const { now, apiKey, privateKeys } = requestVectors;
/** The programs do not check the headers of Standard Webhooks, for which libraries exist. */
const VECTORS = requestVectors.requests.filter(
  ({ standardWebhooks, refused }) => !standardWebhooks || refused === undefined,
);

/**
 * Skips a language that is not installed, with the reason. If `CI` is set, this is a failure. `furtherTests` are additional tests for this
 * language.
 */
export function describeReceiver(program: ReceiverProgram, furtherTests: () => void = () => {}): void {
  const { language, needs } = program;
  const missing = missingOf(needs);
  const packages = missing.map((name) => needs[name]).join(' ');
  const problem = missing.length > 0 && `${missing.join(', ')} not installed: apt-get install ${packages}`;
  describe(`the receiver in ${language}`, { skip: !process.env.CI && problem }, () => {
    let folder: string;
    let ready: ReadyProgram;
    before(() => {
      assert.equal(problem, false);
      folder = mkdtempSync(join(tmpdir(), 'receiver-'));
      ready = program.prepare(folder);
    });
    after(() => rmSync(folder ?? '', { recursive: true, force: true }));
    furtherTests();

    const startFixedClock = (t: TestContext, secrets: string, gnupg: string): Promise<RunningProgram> =>
      startProgram(t, program, (port) => ready.commandAt(port, Date.parse(now) / 1000), {
        HOME: folder,
        GNUPGHOME: gnupg,
        WEBHOOK_SECRETS: secrets,
        WEBHOOK_API_KEYS: `another\n${apiKey}`,
        WEBHOOK_PGP_KEYS: Object.keys(privateKeys).join('\n'),
        WEBHOOK_STATE: mkdtempSync(join(folder, 'state-')),
      });

    it('answers each request vector as specified, and handles no record twice', async (t) => {
      const gnupg = gnupgWith(t, Object.values(privateKeys));
      const secretsOf = ({ secrets = requestVectors.secrets }: RequestVector): string => secrets.join('\n');
      for (const secrets of new Set(VECTORS.map(secretsOf))) {
        const running = await startFixedClock(t, secrets, gnupg);
        const vectors = VECTORS.filter(
          (vector) => secretsOf(vector) === secrets && !(program.dropsRepeated && hasRepeated(vector)),
        );
        const again = vectors.filter(({ name }) => name === 'plain');
        for (const vector of [...vectors, ...again]) {
          assert.equal(await answerTo(running, vector), wantedOf(vector), `${vector.name}\n${running.log()}`);
        }
        const handed = vectors.flatMap((vector) => ('records' in vector ? vector.records : []));
        assert.deepEqual(await running.end(), handed);
      }
    });

    if (program.readsHeadersFirst) {
      it('refuses wrong headers, or a body that is too large, before the body arrives', async (t) => {
        const running = await startFixedClock(t, requestVectors.secrets.join('\n'), folder);
        for (const [name, wanted] of [
          ['a signature of other bytes', '401 wrong_signature'],
          ['plain', '413 too_large'],
        ]) {
          const vector = VECTORS.find((one) => one.name === name);
          assert.ok(vector);
          assert.equal(await answerToHeaders(running.port, vector, requestVectors.maxBytes + 1), wanted, running.log());
        }
      });
    }

    it('accepts deliveries with the public key only, and refuses every other body, key and time', async (t) => {
      const at = Date.parse(now);
      const [first, other] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
      const publicKeys = [other, first].map((seed = '') => `whpk_${ed25519PublicKey(seed)}`);
      const running = await startProgram(t, program, (port) => ready.commandAt(port, at / 1000), {
        HOME: folder,
        WEBHOOK_PUBLIC_KEYS: publicKeys.join('\n'),
        WEBHOOK_API_KEYS: API_KEY,
        WEBHOOK_STATE: mkdtempSync(join(folder, 'state-')),
      });
      const answer = async (changes: Parameters<typeof asymmetricRequest>[1]): Promise<string> => {
        const { status, body } = await sendRaw(running.port, await asymmetricRequest(at, changes));
        return `${status} ${codeOf(body)}`;
      };
      assert.equal(await answer({}), '204 ', running.log());
      assert.equal(await answer({ signer: other }), '204 ', running.log());
      assert.equal(await answer({ rotated: true }), '204 ');
      assert.equal(await answer({ signer: Buffer.alloc(32, 3).toString('base64') }), '401 wrong_signature');
      assert.equal(await answer({ changed: true }), '401 wrong_signature');
      assert.equal(await answer({ headers: { 'webhook-signature': 'v1a,AAAA' } }), '401 wrong_signature');
      assert.equal(await answer({ headers: { 'webhook-id': 'msg_other' } }), '401 wrong_signature');
      assert.equal(await answer({ secondsOld: 301 }), '401 stale_timestamp');
      assert.equal(await answer({ secondsOld: -301 }), '401 stale_timestamp');
      assert.equal(await answer({ headers: { 'webhook-timestamp': '1e9' } }), '401 malformed_timestamp');
      assert.equal(await answer({ headers: { 'webhook-signature': '' } }), '401 missing_header');
      assert.equal(await answer({ headers: { 'x-challenge-sha256': 'A'.repeat(43) } }), '401 malformed_challenge');
      assert.equal((await running.end()).length, 1, 'it is the same message each time');
    });

    for (const { name, publicKey, id, timestamp, bodyBase64, signature } of ed25519Vectors)
      it(`verifies the Ed25519 signature of the vector “${name}”`, async (t) => {
        const [other = ''] = ed25519Vectors.map((one) => one.publicKey).filter((one) => one !== publicKey);
        const answerWith = async (key: string): Promise<string> => {
          const running = await startProgram(t, program, (port) => ready.commandAt(port, timestamp), {
            HOME: folder,
            WEBHOOK_PUBLIC_KEYS: key,
            WEBHOOK_API_KEYS: API_KEY,
            WEBHOOK_STATE: mkdtempSync(join(folder, 'state-')),
          });
          const signed = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
          const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json', ...signed };
          const request = { method: 'POST', path: '/', headers: Object.entries(headers) };
          const { status, body } = await sendRaw(running.port, { ...request, body: Buffer.from(bodyBase64, 'base64') });
          await running.end();
          return `${status} ${codeOf(body)}`;
        };
        // The bodies are verified, and are not deliveries.
        assert.match(await answerWith(publicKey), /^400 malformed_(json|envelope)$/);
        assert.equal(await answerWith(other), '401 wrong_signature');
      });

    it('accepts nothing without secrets or without API keys', async (t) => {
      for (const name of ['WEBHOOK_SECRETS', 'WEBHOOK_API_KEYS']) {
        const given = { WEBHOOK_SECRETS: SECRET, WEBHOOK_API_KEYS: API_KEY, [name]: '' };
        const settings = { HOME: folder, WEBHOOK_STATE: folder, ...given };
        const needed = /WEBHOOK_SECRETS and WEBHOOK_API_KEYS are needed/;
        if (program.beginsUnset) {
          const running = await startProgram(t, program, ready.command, settings);
          const request = { method: 'POST', path: '/', headers: [['x-api-key', '']] as const, body: Buffer.from('{}') };
          assert.equal((await sendRaw(running.port, request)).status, 500);
          assert.match(running.log(), needed);
        } else {
          assert.match(await outputOf(ready.commandAt(0, 0), { PORT: '0', ...settings }), needed);
        }
      }
    });

    it('passes the token challenge of a service, handles each delivery once, and refuses deliveries with another secret', async (t) => {
      const { ca, server } = sharedCertificates();
      for (const [name, text] of Object.entries(server)) writeFileSync(join(folder, `${name}.pem`), text);
      const key = await openpgp.generateKey({ type: 'ecc', userIDs: { email: 'shop@example.com' } });
      const running = await startProgram(t, program, ready.command, {
        HOME: folder,
        GNUPGHOME: gnupgWith(t, [key.privateKey]),
        WEBHOOK_SECRETS: `${SECRET}\nthe next one`,
        WEBHOOK_API_KEYS: API_KEY,
        WEBHOOK_PGP_KEYS: 'shop-2026',
        WEBHOOK_STATE: mkdtempSync(join(folder, 'state-')),
        ...(program.servesTls && {
          WEBHOOK_TLS_CERT_FILE: join(folder, 'certificate.pem'),
          WEBHOOK_TLS_KEY_FILE: join(folder, 'privateKey.pem'),
          ...program.tlsSettings?.(folder),
        }),
      });
      const port = program.servesTls ? running.port : await startTlsFront(t, server, running.port);
      const { admin, log } = await startService(t, { ca });
      for (const type of ['order.created', 'order.paid']) await makeEventType(admin, type);
      await importKey(admin, 'shop-2026', key.publicKey);
      const at = { url: `https://localhost:${port}/Hooks/In?Shop=17`, secret: SECRET, apiKey: API_KEY };
      const endpoint = await makeEndpoint(admin, at, { tokenChallenge: true, contentEncoding: 'gzip' });
      assert.ok(endpoint.verified, `${JSON.stringify(endpoint.lastVerification)}\n${running.log()}`);

      const customHeaders = [
        { name: 'X-Tenant', value: 'Acme_1' },
        { name: 'x-region', value: 'eu' },
      ];
      const orders = await makeWebhook(admin, endpoint, ['order.created'], { customHeaders });
      await startWebhook(admin, orders);
      const [id = ''] = await publish(admin, 'order.created', { orderId: 42, note: 'Zoë' });
      const order = { messageId: id, eventType: 'order.created', data: { orderId: 42, note: 'Zoë' } };
      assert.deepEqual(await running.nextRecord(), order);
      assert.equal((await log.nextAttempt(orders.id)).responseStatus, 204, running.log());

      await succeeded(admin.post(`deliveries/${(await deliveryOf(admin, orders, id)).id}/replay`));
      assert.equal((await log.nextAttempt(orders.id)).responseStatus, 204, running.log());

      const encrypting = { encryptionKeyName: 'shop-2026', customHeaders };
      const encrypted = await startWebhook(admin, await makeWebhook(admin, endpoint, ['order.paid'], encrypting));
      const [paid] = await publish(admin, 'order.paid', { amount: '12.50' });
      // The replay was received before this record, but not handled again.
      assert.deepEqual(await running.nextRecord(), {
        messageId: paid,
        eventType: 'order.paid',
        data: { amount: '12.50' },
      });
      assert.equal((await log.nextAttempt(encrypted.id)).responseStatus, 204, running.log());

      const stranger = await makeEndpoint(admin, { ...at, secret: 'not the one' });
      const foreign = await startWebhook(admin, await makeWebhook(admin, stranger, ['order.created']));
      const refused = await succeeded<AttemptView>(admin.post(`webhooks/${foreign.id}/test`));
      assert.equal(refused.responseStatus, 401);
      assert.match(refused.responseBody ?? '', /^wrong_signature: none of the 2 secrets signed /);
      const handed = (await running.end()).map(({ eventType }) => eventType);
      assert.deepEqual(handed, ['order.created', 'order.paid']);
    });
  });
}

const MESSAGE_ID = '0193a1f0-0000-7000-8000-000000000009';

type AsymmetricChanges = {
  /** The Base64 of a private key. */
  readonly signer?: string | undefined;
  /** Signed by another key before. */
  readonly rotated?: boolean;
  readonly changed?: boolean;
  readonly secondsOld?: number;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A delivery that an Ed25519 key signed, without a signature of a secret. */
async function asymmetricRequest(at: number, changes: AsymmetricChanges) {
  const { signer = Buffer.alloc(32, 1).toString('base64'), rotated = false, changed = false, secondsOld = 0 } = changes;
  const { method, path, headers, body } = await signedRequest({ at, records: [{ messageId: MESSAGE_ID }] });
  const head = { id: 'msg_1', timestamp: String(at / 1000 - secondsOld) };
  const seeds = rotated ? [Buffer.alloc(32, 9).toString('base64'), signer] : [signer];
  const signature = asymmetricSignatures({ ...head, body }, seeds.map(ed25519Key));
  const own = { 'webhook-id': head.id, 'webhook-timestamp': head.timestamp, 'webhook-signature': signature };
  // An empty header is left out.
  const sent = Object.entries({ ...own, ...changes.headers }).filter(([, value]) => value !== '');
  const kept = headers.filter(([name]) => name.toLowerCase() !== 'authorization');
  const bytes = changed ? Buffer.concat([body, Buffer.from(' ')]) : body;
  return { method, path, headers: [...kept, ...sent], body: bytes };
}

async function answerTo({ port }: RunningProgram, vector: RequestVector): Promise<string> {
  const { method, url, headers, bodyBase64 } = vector;
  const path = url.slice(new URL(url).origin.length);
  const reply = await sendRaw(port, { method, path, headers, body: Buffer.from(bodyBase64, 'base64') });
  return `${reply.status} ${reply.headers.get('x-challenge-sha256') ?? codeOf(reply.body)}`;
}

/** The response to a request whose body of this length never arrives. */
async function answerToHeaders(port: number, { url, headers }: RequestVector, length: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const path = url.slice(new URL(url).origin.length);
  const lines = [...headers, ['Content-Length', String(length)]].map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${path} HTTP/1.1\r\nHost: hooks.example.com\r\n${lines.join('')}\r\n`);
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    if (/\r\n\r\n[\s\S]+/.test(text)) break;
  }
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return `${head.split(' ')[1]} ${codeOf(body)}`;
}

function wantedOf(vector: RequestVector): string {
  if (vector.refused !== undefined) return `${vector.status} ${vector.refused}`;
  return vector.answer === undefined ? '204 ' : `200 ${vector.answer}`;
}

function hasRepeated({ headers }: RequestVector): boolean {
  return new Set(headers.map(([name]) => name.toLowerCase())).size < headers.length;
}

function codeOf(body: string): string {
  return /^(\w+): /m.exec(body)?.[1] ?? body;
}
