/**
 * While the database fails at any read or write of a request, no page and no refusal for a customer has a word that is only the operator's:
 * the remedies are not for the customers' people and programs.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { FLASH_COOKIE, readFlash, SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { DatabaseUnavailable, UNAVAILABLE_REASONS } from '../../src/store/port/errors.ts';
import { unavailable as unavailableServer } from '../../src/store/postgres/driver/errors.ts';
import { unavailable as unavailableFile } from '../../src/store/sqlite/driver/errors.ts';
import { succeeded } from '../support/client.ts';
import { makeCustomer, ORDERS, seedBelongings, sessionOf, unknownLike } from '../support/customers.ts';
import { failingDatabase } from '../support/failing-reads.ts';
import { makeEventType } from '../support/journey.ts';
import { type ApiDocument, bodiesOf, operationsOf } from '../support/openapi-document.ts';
import { OPERATORS_WORDS } from '../support/operators-words.ts';
import { formAt } from '../support/portal-forms.ts';
import { customersPages } from '../support/portal-pages.ts';
import { type PortalReply, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

/** As both drivers and the store word them, in turn. */
const ERRORS = UNAVAILABLE_REASONS.flatMap((reason) => [
  () => unavailableFile(reason),
  () => unavailableServer(reason),
  () => new DatabaseUnavailable(reason),
]);

test('pages and answers say nothing of the database while it fails', async (t) => {
  const service = await startService(t, { env: { SALLYPORT_PORTAL_FRAME_ANCESTORS: 'https://shop.example' } });
  const { admin, url } = service;
  await makeEventType(admin, ORDERS);
  const own = await makeCustomer(service);
  const { ids } = await seedBelongings(service, own);
  const token = await sessionOf(service, own, 'user');
  const cookie = `${SESSION_COOKIE}=${token}; sallyport-customer=user.${own.id}`;
  const database = failingDatabase(t);
  let used = 0;
  let outages = 0;
  const spoken = new Set<string>();

  /** Sends the request again and again; each time another of its reads fails, and its writes do. */
  const failEverywhere = async (what: string, send: () => Promise<Pick<PortalReply, 'status' | 'text'>>) => {
    for (let at = 0, isLast = false; !isLast; at += 1) {
      assert.ok(at < 200, what);
      const error = ERRORS[used % ERRORS.length] ?? assert.fail();
      used += 1;
      const { result, hasFailed } = await database.during({ at, error }, send);
      const { status, text } = result;
      if (status === 503) outages += 1;
      const found = text.search(OPERATORS_WORDS);
      if (found >= 0) spoken.add(`${status} ${what}: ${text.slice(Math.max(0, found - 40), found + 40)}`);
      isLast = !hasFailed;
    }
  };

  await t.test('in the portal', async () => {
    const pages = customersPages();
    const shown = new Set(pages.flatMap(({ method, path }) => (method === 'GET' ? [path] : [])));
    for (const { method, path } of pages) {
      const filled = url + path.replace(/\{\w+\*?\}/, ids[kindOf(path) ?? ''] ?? unknownLike(own.id));
      const form = method === 'GET' ? undefined : shown.has(path) ? await formAt(filled, token).catch(() => ({})) : {};
      await failEverywhere(`${method} ${path}`, async () => {
        const reply = await request(filled, { token, ...(form && { form }), headers: { cookie } });
        return { status: reply.status, text: wordsOf(reply, token) };
      });
    }
  });

  await t.test('in the API', async () => {
    const document = await succeeded<ApiDocument>(admin.get('/services/api/openapi.json'));
    for (const { method, path, operation } of operationsOf(document)) {
      if (!path.startsWith('/services/api/x/')) continue;
      const filled = path.replace(/\{\w+\}/, ids[kindOf(path) ?? ''] ?? unknownLike(own.id));
      for (const body of bodiesOf(document, operation)) {
        await failEverywhere(`${method} ${path}`, async () => {
          const reply = await own.api.send(method, filled, body === undefined ? {} : { body });
          // Scopes that the request itself names are no words of the answer.
          const told = JSON.stringify(reply.body).replaceAll(/\bemployees:\w+/g, '');
          return { status: reply.status, text: reply.status < 400 ? '' : told };
        });
      }
    }
  });

  await t.test('a browser in a frame reads it in the frame, and one of the operator reads the remedy', async () => {
    /** Asks again if a read of the service's own work came first and failed. */
    const asked = async (headers: Readonly<Record<string, string>>): Promise<PortalReply> => {
      for (;;) {
        const { result } = await database.during({ at: 0, error: () => unavailableFile('damaged') }, () =>
          request(`${url}/webhooks`, { headers }),
        );
        if (result.status !== 200) return result;
      }
    };
    const framed = await asked({ cookie, 'sec-fetch-dest': 'iframe' });
    assert.equal(framed.status, 503);
    assert.match(framed.headers.get('content-security-policy') ?? '', /frame-ancestors https:\/\/shop\.example/);
    const operators = await asked({ cookie: `${SESSION_COOKIE}=${token}` });
    assert.match(operators.text, /sallyport restore/);
  });

  assert.deepEqual([...spoken], []);
  assert.ok(used > 1000 && outages > 500, `${used} requests, ${outages} with 503`);
});

/** The text of the reply, and the message that it leaves for the next page. */
function wordsOf({ headers, text }: PortalReply, token: string): string {
  const sealed = new RegExp(`${FLASH_COOKIE}=([^;]+)`).exec(headers.get('set-cookie') ?? '')?.[1];
  const message = sealed === undefined ? null : readFlash(sealed, token);
  const shown = text.replaceAll(/<(script|style)[\s\S]*?<\/\1>/g, '').replaceAll(/<[^>]*>/g, ' ');
  return `${message?.text ?? ''} ${shown}`;
}

/** The segment before the first parameter of the path; null without one. */
function kindOf(path: string): string | null {
  return /([^/]+)\/\{/.exec(path)?.[1] ?? null;
}
