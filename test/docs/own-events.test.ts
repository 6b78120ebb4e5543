/** Compares the table of Sallyport's own events in docs/delivery-reference.md with the events. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { housekeepingFor } from '../support/housekeeping.ts';
import { connect, startJourney } from '../support/journey.ts';
import { ACTOR, makeEndpoint, makeEventType, makeKey, makeWebhook, openTestServices } from '../support/services.ts';
import { makeCertificates } from '../support/tls.ts';

const DAY_MS = 86_400_000;

/** The fields of each type in the table. A row without a type belongs to the row above. */
const documented = new Map<string, string[]>();
const page = readFileSync(new URL('../../docs/delivery-reference.md', import.meta.url), 'utf8');
const [, section = ''] = /\n## Events of Sallyport\n([\s\S]*?)\n## /.exec(page) ?? [];
let type = '';
for (const [, types = '', fields = ''] of section.matchAll(/^\| (.*?)\| (.*?) \| .* \|$/gm)) {
  type = /`(webhook\.\w+)`/.exec(types)?.[1] ?? type;
  const names = [...fields.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
  documented.set(type, [...(documented.get(type) ?? []), ...names]);
}

const fieldsOf = (data: unknown): string[] => Object.keys(data as object).sort();
const saidOf = (name: string, ...absent: readonly string[]): string[] =>
  (documented.get(name) ?? []).filter((field) => !absent.includes(field)).sort();

describe('the events of Sallyport have the documented fields', () => {
  it('if the state of a webhook changes', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.placed');
    const { id } = await makeWebhook(s, ['order.placed']);
    await s.webhooks.start(id, ACTOR);
    const [started] = await s.rows("SELECT data FROM event WHERE type = 'webhook.started'");
    assert.deepEqual(fieldsOf(JSON.parse(String(started?.data))), saidOf('webhook.started'));
  });

  it('if a key or a client certificate expires soon', async (t) => {
    const s = await openTestServices(t, { now: Date.now() });
    await makeKey(s);
    s.sqlite.connection.prepare('UPDATE pgp_key SET expires_at = ?').run(s.clock() + 5 * DAY_MS);
    await makeEndpoint(s, { clientCertificate: makeCertificates({ days: 20 }).client });
    await housekeepingFor(s).runOnce();
    const told = (await s.rows("SELECT data FROM event WHERE type = 'webhook.key_expiring'")).map(({ data }) =>
      String(data),
    );
    assert.deepEqual(
      told.map((data) => fieldsOf(JSON.parse(data))),
      [
        saidOf('webhook.key_expiring', 'endpointId', 'endpointName'),
        saidOf('webhook.key_expiring', 'keyId', 'keyName'),
      ],
    );
  });

  it('if a webhook is tested', async (t) => {
    const { admin, receiver } = await startJourney(t);
    const { at, webhook } = await connect({ admin, receiver }, ['webhook.failed']);
    await admin.post(`webhooks/${webhook.id}/test`);
    const { records } = (await at.next()).envelope;
    assert.deepEqual(fieldsOf(records[0]?.data), saidOf('webhook.test'));
  });
});
