/** The parts of `pg` that its documentation leaves out, and what the driver makes of them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { connectFirst } from '../../../src/store/postgres/driver/connect.ts';
import { internalsOf, PG_RELEASE } from '../../../src/store/postgres/driver/pg-internals.ts';
import { planConnections } from '../../../src/store/postgres/driver/url.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { freePort } from '../../support/free-port.ts';
import { newDatabase } from '../../support/postgres.ts';

const project = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
const installed = JSON.parse(readFileSync(new URL('../../../node_modules/pg/package.json', import.meta.url), 'utf8'));

/** A server between the driver and PostgreSQL. Tells the types of the messages that the driver has sent since the last call. */
async function recorder(t: TestContext, url: string): Promise<{ readonly url: string; sent(): string }> {
  const target = new URL(url);
  const through = new URL(url);
  let types = '';
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let left = Buffer.alloc(0);
    let isStarted = false;
    client.on('data', (chunk) => {
      left = Buffer.concat([left, chunk]);
      // The first message has no type.
      for (let at = isStarted ? 1 : 0; left.length >= at + 4; at = 1) {
        const length = left.readInt32BE(at);
        if (left.length < at + length) break;
        if (isStarted) types += String.fromCharCode(left[0] as number);
        isStarted = true;
        left = left.subarray(at + length);
      }
    });
    client.pipe(upstream).pipe(client);
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  cleanUp(t, () => server.close());
  through.port = String(port);
  return {
    url: `${through.href}?sslmode=disable`,
    sent: () => {
      const found = types;
      types = '';
      return found;
    },
  };
}

describe('the parts of pg that its documentation leaves out', () => {
  it('are those of one exact release, which has them all', () => {
    assert.match(project.dependencies.pg, /^\d+\.\d+\.\d+$/);
    assert.equal(installed.version, project.dependencies.pg);
    assert.ok(installed.version.startsWith(`${PG_RELEASE}.`));
    const internals = internalsOf(new pg.Client());
    assert.equal(internals.process(), null);
  });

  it('are named if a release lacks them', () => {
    const { connection } = new pg.Client() as unknown as { connection: Record<string, unknown> };
    const of = (client: unknown) => () => internalsOf(client as pg.Client);
    const parsing = Object.assign(Object.create(connection), { parse: undefined });
    assert.throws(of({ processID: null, connection: parsing }), {
      name: 'TypeError',
      message: `this release of pg lacks connection.parse: npm install pg@${PG_RELEASE}`,
    });
    const silent = Object.assign(Object.create(connection), { stream: { destroy() {} } });
    assert.throws(of({ connection: silent }), /lacks processID, connection\.stream\.cork, connection\.stream\.uncork:/);
  });

  it('send statements with one Sync, as one transaction, and prepare each once', async (t) => {
    const { url, sent } = await recorder(t, await newDatabase(t));
    const session = await connectFirst(planConnections(url, {}));
    cleanUp(t, () => session.end());
    const number = {
      sql: 'SELECT CAST(pg_current_xact_id() AS text) AS number, CAST(@n AS bigint) AS n',
      params: { n: 7 },
    };
    const process = { sql: 'SELECT pg_backend_pid() AS process', params: {} };
    sent();
    const answers = await session.runAll([number, process, number]);
    assert.equal(sent(), 'PBDEPBDEBDES');
    assert.deepEqual(answers[0]?.rows, answers[2]?.rows);
    assert.deepEqual([answers[0]?.rows[0]?.n, answers[1]?.rows], [7, [{ process: session.process }]]);
    await Promise.all([session.runAll([process, number]), session.runAll([number])]);
    assert.equal(sent(), 'BDEBDESBDES');
    const broken = { sql: 'SELECT 1 / (@n - @n) AS none', params: { n: 1 } };
    await assert.rejects(session.runAll([broken, process]), { code: '22012' });
    assert.equal(sent(), 'PBDEBDES');
    await assert.rejects(session.runAll([broken]), { code: '22012' });
    // Nobody knows whether the server kept it.
    assert.equal(sent(), 'CPBDES');
  });
});
