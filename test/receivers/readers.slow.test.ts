import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { succeeded } from '../support/client.ts';
import { makeEventType, registerApplication } from '../support/journey.ts';
import { startService } from '../support/service.ts';

const run = promisify(execFile);
const file = (name: string): string => fileURLToPath(new URL(`../../docs/examples/${name}`, import.meta.url));

/** The commands of docs/examples that read the events of a webhook in mode pull. */
const READERS: readonly (readonly [string, (t: TestContext) => readonly [string, ...string[]]])[] = [
  ['Python', () => ['python3', file('reader.py')]],
  [
    'Go',
    () => {
      const program = join(mkdtempSync(join(tmpdir(), 'sallyport-reader-')), 'reader');
      execFileSync('go', ['vet', file('reader.go')], { stdio: 'pipe' });
      execFileSync('go', ['build', '-o', program, file('reader.go')], { stdio: 'pipe' });
      return [program];
    },
  ],
];

describe('a reader of docs/examples', () => {
  for (const [language, commandOf] of READERS) {
    it(`in ${language} gets everything in order, once, and acknowledges it`, async (t) => {
      const { admin, url } = await startService(t);
      await makeEventType(admin, 'order.placed');
      const body = { name: 'orders', mode: 'pull', eventTypes: ['order.placed'] };
      const { id } = await succeeded<{ id: string }>(admin.post('webhooks', body));
      const { credentials } = await registerApplication(admin, ['records:read']);
      const publish = (from: number, to: number, subject?: string): Promise<unknown> => {
        const events = Array.from({ length: to - from }, (_, n) => ({ type: 'order.placed', data: { n: from + n } }));
        return succeeded(
          admin.post('events', { events: events.map((event) => ({ ...event, ...(subject && { subject }) })) }),
        );
      };
      const [program, ...args] = commandOf(t);
      const { clientId, clientSecret } = credentials;
      const env = {
        ...process.env,
        SALLYPORT_URL: url,
        WEBHOOK_ID: id,
        CLIENT_ID: clientId,
        CLIENT_SECRET: clientSecret,
      };
      const read = async (): Promise<number[]> =>
        (await run(program, args, { env })).stdout.split('\n').flatMap((line) => {
          const [, type, data] = /^\S+ (\S+) (.*)$/.exec(line) ?? [];
          return type === 'order.placed' && data !== undefined ? [(JSON.parse(data) as { n: number }).n] : [];
        });
      assert.deepEqual(await read(), []);
      await publish(0, 230);
      assert.deepEqual(
        await read(),
        Array.from({ length: 230 }, (_, n) => n),
      );
      assert.deepEqual(await read(), []);
      await publish(230, 232, 'jane');
      await succeeded(admin.post('events/erase', { subject: 'jane' }));
      assert.deepEqual(await read(), []);
      const { acknowledgedOffset } = await succeeded<{ acknowledgedOffset: number }>(
        admin.get(`webhooks/${id}/records`),
      );
      assert.equal(acknowledgedOffset, 231);
      await succeeded(admin.post(`webhooks/${id}/stop`));
      await assert.rejects(read(), (error: { stderr?: string }) => /409/.test(error.stderr ?? ''));
    });
  }
});
