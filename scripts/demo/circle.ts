/** The main part of the demo: a token, a guarded call, and a signed and encrypted delivery. */
import { type Api, EDGE, EMPLOYEES, requestToken } from './api.ts';
import { checkEnvelope, createReceivingEndpoint, readBack, showHeaders } from './delivery.ts';
import type { ReceiverProcess } from './processes.ts';
import type { Story } from './story.ts';

const KEY_NAME = 'hr-key';
const PATH = '/hooks/hr?tenant=Acme';
const CUSTOM_HEADERS = [{ name: 'X-Tenant', value: 'acme' }];

/** The parts that the other modes reuse. */
export type Circled = { readonly application: Api; readonly keyName: string; readonly privateKey: string };

type Stage = { readonly story: Story; readonly admin: Api; readonly receiver: ReceiverProcess };

export async function runCircle({ story, admin, receiver }: Stage): Promise<Circled> {
  story.chapter('Set up a customer');
  const application = await registerApplication(story, admin);
  const privateKey = await importKey(story, admin);

  const endpoint = await story.step(
    'endpoint',
    'An endpoint is created and verified by token challenge',
    async (tell) => {
      const decryption = { keyName: KEY_NAME, privateKey };
      const made = await createReceivingEndpoint(admin, receiver, PATH, { decryption }, 'gzip');
      if (made.challenge === null) throw new Error('the receiver got no challenge');
      tell.fact('url', made.url);
      tell.line(`→ x-challenge-sha256: ${made.challenge.token}`);
      tell.line(`← x-challenge-sha256: ${made.challenge.answer}`);
      tell.fact('verified', true);
      return made;
    },
  );

  const webhook = await story.step(
    'webhook',
    'A webhook sends employee events to it, compressed and encrypted',
    async (tell) => {
      const { body } = await admin.call<{ id: string }>(201, 'POST', `${EDGE}/webhooks`, {
        name: 'Employees to HR',
        endpointId: endpoint.id,
        eventTypes: ['employee.*'],
        customHeaders: CUSTOM_HEADERS,
        encryptionKeyName: KEY_NAME,
      });
      const started = await admin.call<{ state: string }>(200, 'POST', `${EDGE}/webhooks/${body.id}/start`);
      tell.fact('webhookId', body.id);
      tell.fact('state', started.body.state);
      return body;
    },
  );

  story.chapter('Call the API and receive a delivery');
  const employee = await createEmployee(story, application);

  const delivery = await story.step('delivery', 'The customer receives the delivery', async (tell) => {
    const message = await receiver.next('delivery', PATH);
    tell.block(`POST ${PATH}`, showHeaders(message.headers));
    tell.line(`and ${message.bodyBytes} bytes of body`);
    tell.record('headers', Object.fromEntries(message.headers));
    tell.record('bodyBytes', message.bodyBytes);
    return message;
  });

  await story.step('signature', 'The signature verifies', async (tell) => {
    const wanted = 'x-content-sha256 date x-tenant';
    const signed = delivery.signedHeaders.join(' ');
    if (signed !== wanted) throw new Error(`the signed headers are ${signed}, not ${wanted}`);
    tell.line('it signs the method, the path and query in lower case, and the values of');
    tell.fact('signedHeaders', delivery.signedHeaders);
  });

  await story.step('payload', 'The decrypted and decompressed body has the event', async (tell) => {
    if (!delivery.encrypted || !delivery.compressed)
      throw new Error('the delivery is not encrypted, or not compressed');
    const { envelope, records } = checkEnvelope(delivery, webhook.id, 1);
    const [record] = records;
    const data = record?.data as { userId?: string };
    if (record?.eventType !== 'employee.created') throw new Error(`the event is ${record?.eventType}`);
    if (data.userId !== employee) throw new Error(`the event is about ${data.userId}, not ${employee}`);
    tell.block('JSON', JSON.stringify(JSON.parse(delivery.json), null, 2));
    tell.record('envelope', envelope);
  });

  await story.step('attempt', 'Sallyport has recorded the attempt', async (tell) => {
    const { attempts, ...summary } = await readBack(admin, webhook.id, 0);
    const [attempt] = attempts;
    if (attempt === undefined || attempts.length > 1) throw new Error(`${attempts.length} attempts are recorded`);
    tell.fact('deliveryId', summary.id);
    tell.fact('state', summary.state);
    tell.fact('responseStatus', attempt.responseStatus);
    tell.fact('totalMs', attempt.timings.totalMs ?? null);
  });
  return { application, keyName: KEY_NAME, privateKey };
}

async function registerApplication(story: Story, admin: Api): Promise<Api> {
  const user = await story.step('user', 'An administrator creates a service user', async (tell) => {
    const { body } = await admin.call<{ id: string }>(201, 'POST', `${EDGE}/users`, {
      userName: 'hr-sync',
      permissions: ['employees:create', 'employees:view'],
      constraints: { divisions: ['sales'] },
    });
    tell.fact('userName', 'hr-sync');
    tell.fact('permissions', ['employees:create', 'employees:view']);
    tell.fact('divisions', ['sales']);
    return body;
  });
  const client = await story.step(
    'application',
    'The administrator creates an application for this user',
    async (tell) => {
      const { body } = await admin.call<{ clientId: string; clientSecret: string }>(
        201,
        'POST',
        `${EDGE}/applications`,
        {
          name: 'HR sync',
          userId: user.id,
          scopes: ['employees:create', 'employees:view'],
        },
      );
      tell.fact('clientId', body.clientId);
      tell.line(`its secret, shown once: ${body.clientSecret.slice(0, 8)}…`);
      return body;
    },
  );
  return story.step('token', 'The application gets a token', async (tell) => {
    const token = await requestToken(admin.url, client);
    tell.fact('scope', token.scope);
    tell.fact('expiresInSeconds', token.expires_in);
    tell.line(`${token.access_token.slice(0, 12)}… (${token.access_token.length} characters)`);
    return admin.as(token.access_token);
  });
}

async function importKey(story: Story, admin: Api): Promise<string> {
  return story.step('key', "The customer's public PGP key is imported", async (tell) => {
    const openpgp = await import('openpgp');
    const { publicKey, privateKey } = await openpgp.generateKey({
      type: 'ecc',
      curve: 'curve25519Legacy',
      userIDs: [{ name: 'HR', email: 'hr@customer.example' }],
    });
    const { body } = await admin.call<{ fingerprint: string; algorithm: string }>(201, 'POST', `${EDGE}/keys`, {
      name: KEY_NAME,
      publicKey,
    });
    tell.fact('fingerprint', body.fingerprint);
    tell.fact('algorithm', body.algorithm);
    return privateKey;
  });
}

async function createEmployee(story: Story, application: Api): Promise<string> {
  await story.step('guard', 'The gate refuses a call outside of the scopes of the token', async (tell) => {
    const { headers } = await application.call(401, 'GET', `${EDGE}/users`);
    tell.line(`GET ${EDGE}/users → 401`);
    tell.fact('wwwAuthenticate', headers.get('www-authenticate') ?? '');
    if (!headers.get('www-authenticate')?.includes('insufficient_scope'))
      throw new Error('the error is not insufficient_scope');
  });
  return story.step('employee', 'The application creates an employee through the guarded API', async (tell) => {
    const { headers, body } = await application.call<{ userId: string }>(201, 'POST', EMPLOYEES, {
      userName: 'ada',
      firstName: 'Ada',
      lastName: 'Lovelace',
      email: 'ada@customer.example',
      division: 'sales',
      hireDate: '2026-11-23',
    });
    tell.line(`POST ${EMPLOYEES} → 201`);
    tell.fact('location', headers.get('location') ?? '');
    return body.userId;
  });
}
