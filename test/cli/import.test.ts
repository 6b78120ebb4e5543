import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { initialised, type Json, type Page } from '../support/command-folder.ts';
import { OUTPOST_SECRET, outpostExport, SVIX_SECRET, svixExport } from '../support/exports.ts';
import { imported, importing } from '../support/imports.ts';
import { only } from '../support/journey.ts';
import { newDatabase } from '../support/postgres.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { onPostgres } from '../support/store.ts';

repeatsInSlowTier('postgres');

type Report = {
  readonly applied: boolean;
  readonly made: number;
  readonly there: number;
  readonly refused: number;
  readonly started: number;
  readonly rows: readonly { readonly path: string; readonly result: string; readonly reason: string | null }[];
};

describe('import', () => {
  it('beside a server, a receiver gets from Sallyport what it got from Svix, with the secret that it has', async (t) => {
    const settings = onPostgres ? { SALLYPORT_DATABASE_URL: await newDatabase(t) } : {};
    const here = await importing(t, settings);
    const { run, json } = here;
    const headers = { headers: { Authorization: 'Bearer of-the-receiver', 'X-Route': 'blue green' }, sensitive: [] };
    const file = here.file(svixExport({ url: here.url, headers, channels: ['project_1'] }));

    const dry = await imported(here, ['svix', file]);
    assert.match(dry, /3 to be made, 0 there already, 0 refused\. Nothing was changed\./);
    assert.match(dry, /\nCannot be kept:\n {2}applications\[0\]\.endpoints\.data\[0\]: its channels, unless/);
    assert.ok(
      dry.split('\n').every((line) => line.length <= 100),
      dry,
    );
    for (const list of ['customer', 'endpoint', 'webhook'])
      assert.deepEqual((await json<Page>([list, 'list'])).items, []);

    const applied = await imported(here, ['svix', file, '--apply']);
    assert.match(applied, /3 made, 0 there already, 0 refused\./);
    assert.match(applied, /you vouch that each of\sthem belongs to its customer/);
    for (const text of [dry, applied]) assert.doesNotMatch(text, /of-the-receiver|C2FVsBQIhrscChlQIMV/);
    const endpoint = only((await json<Page>(['endpoint', 'list'])).items);
    assert.deepEqual([endpoint.enabled, endpoint.tokenChallenge, endpoint.sendApiKey], [true, false, false]);
    assert.equal(only((await json<Page>(['webhook', 'list'])).items).state, 'stopped');

    const publish = (data: object) =>
      json(['event', 'publish', 'order.created', JSON.stringify(data), '--customer', 'acct_17']);
    await publish({ orderId: 1, channels: ['project_1'] });
    await publish({ orderId: 2, channels: ['project_2'] });
    await publish({ orderId: 3, channels: ['project_2', 'project_1'] });
    assert.equal(here.seen(), 0);
    const again = await json<Report>(['import', 'svix', file, '--apply', '--start']);
    assert.deepEqual([again.made, again.there, again.refused, again.started], [0, 3, 0, 1]);

    const bodies: string[] = [];
    for (const _ of [1, 3]) {
      const request = await here.next();
      const body = request.body.toString();
      bodies.push(body);
      const { 'svix-id': id, 'svix-timestamp': time, 'svix-signature': signature } = request.headers;
      const key = Buffer.from(SVIX_SECRET.slice('whsec_'.length), 'base64');
      const wanted = createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64');
      assert.equal(signature, `v1,${wanted}`);
      assert.equal(request.headers.authorization, 'Bearer of-the-receiver');
      assert.equal(request.headers['x-route'], 'blue green');
      assert.equal(request.headers['content-type'], 'application/json');
      assert.equal(request.headers['x-api-key'], undefined);
    }
    assert.deepEqual(bodies.sort(), [
      '{"orderId":1,"channels":["project_1"]}',
      '{"orderId":3,"channels":["project_2","project_1"]}',
    ]);
    assert.equal(here.seen(), 2);
    assert.match((await run(['audit', 'verify'])).stdout, /The chain is intact/);
  });

  it('a receiver of Outpost gets what it got, and the whole secret with whsec_ is the key', async (t) => {
    const here = await importing(t);
    const more = {
      config: { url: here.url, custom_headers: '{"x-tenant-id":"c"}' },
      filter: { data: { total: { $gte: 10 } } },
    };
    await imported(here, ['outpost', here.file(outpostExport(more)), '--apply', '--start']);
    for (const total of [5, 15])
      await here.json(['event', 'publish', 'order.created', `{"total":${total}}`, '--customer', 'acct_18']);
    const { headers, body } = await here.next();
    assert.equal(body.toString(), '{"total":15}');
    const wanted = createHmac('sha256', OUTPOST_SECRET).update(body).digest('hex');
    assert.equal(headers['x-outpost-signature'], `v0=${wanted}`);
    assert.match(String(headers['x-outpost-event-id']), /^msg_/);
    assert.equal(headers['x-tenant-id'], 'c');
  });

  it('makes nothing if something is refused, names it with its place, and makes the rest with --skip-refused', async (t) => {
    const folder = await initialised(t);
    const given = svixExport();
    const application = only(given.applications);
    const [endpoint] = application.endpoints.data;
    const bad = [
      { ...endpoint, id: 'ep_http', url: 'http://hooks.example.com' },
      { ...endpoint, id: 'ep_inside', url: 'https://10.0.0.1/in' },
      { ...endpoint, id: 'ep_unknown', eventTypes: ['order.unknown'] },
      { ...endpoint, id: 'ep_short', url: 'https://hooks.example.com/#x' },
    ];
    const all = { ...given, applications: [{ ...application, endpoints: [endpoint, ...bad] }] };
    const args = ['import', 'svix', '-', '--json'];
    const refused = await folder.run([...args, '--apply'], JSON.stringify(all));
    assert.equal(refused.status, 1);
    const report = JSON.parse(refused.stdout) as Report;
    assert.deepEqual([report.applied, report.refused], [false, 4]);
    const reasons = report.rows.filter(({ result }) => result === 'refused');
    const WANTED = [
      /^applications\[0\]\.endpoints\[1\] has a URL that does not begin with https:/,
      /^applications\[0\]\.endpoints\[2\] url .*10\.0\.0\.1/,
      /^applications\[0\]\.endpoints\[3\] eventTypes\[0\] is not the name of an event type: "order\.unknown"/,
      /^applications\[0\]\.endpoints\[4\] url must not hold a fragment/,
    ];
    for (const [at, wanted] of WANTED.entries()) assert.match(`${reasons[at]?.path} ${reasons[at]?.reason}`, wanted);
    assert.deepEqual((await folder.json<Page>(['customer', 'list'])).items, []);

    const rest = await folder.run([...args, '--apply', '--skip-refused'], JSON.stringify(all));
    assert.equal(rest.status, 0, rest.stderr);
    assert.equal((JSON.parse(rest.stdout) as Report).made, 3);
    assert.equal((await folder.json<Page>(['endpoint', 'list'])).items.length, 1);
  });

  it('keeps what it made although its webhook cannot start, and says why', async (t) => {
    const folder = await initialised(t);
    const text = JSON.stringify(svixExport());
    const args = ['import', 'svix', '-', '--apply'];
    await folder.json<Report>(args, text);
    const { id: customer } = only((await folder.json<Page>(['customer', 'list'])).items);
    await folder.json(['customer', 'update', customer, '--fields', '{"active":false}']);
    const { id } = only((await folder.json<Page>(['webhook', 'list'])).items);
    assert.equal((await folder.run(['webhook', 'delete', id])).status, 0);
    for (const result of ['made', 'there']) {
      const { status, stdout } = await folder.run([...args, '--start', '--json'], text);
      const { rows, refused, started } = JSON.parse(stdout) as Report;
      const row = rows.at(-1);
      assert.deepEqual([status, row?.result, refused, started], [1, result, 0, 0]);
      assert.match(row?.reason ?? '', /suspended/);
    }
    const shown = await folder.run([...args, '--start'], text);
    assert.match(shown.stdout, /\nNot started:\n {2}applications\[0\]\.endpoints\.data\[0\]: .*suspended/);
    assert.doesNotMatch(shown.stdout, /^Refused/m);
  });

  it('goes on where an earlier run ended, and starts no webhook that someone stopped', async (t) => {
    const folder = await initialised(t);
    const text = JSON.stringify(svixExport());
    const run = (...more: string[]) => folder.json<Report>(['import', 'svix', '-', '--apply', ...more], text);
    await run();
    const { id } = only((await folder.json<Page>(['webhook', 'list'])).items);
    assert.equal((await folder.run(['webhook', 'delete', id])).status, 0);
    assert.deepEqual(
      (await run()).rows.map(({ result }) => result),
      ['there', 'there', 'made'],
    );
    assert.equal((await run('--start')).started, 1);
    const webhook = only((await folder.json<Page>(['webhook', 'list'])).items);
    await folder.json(['webhook', 'stop', webhook.id]);
    assert.equal((await run('--start')).started, 0);
    assert.equal((await folder.json<Json>(['webhook', 'show', webhook.id])).state, 'stopped');
    assert.equal((await folder.json<Page>(['endpoint', 'list'])).items.length, 1);
  });

  it('gives a new customer room for all its endpoints, and obeys the limit of one that is there', async (t) => {
    const folder = await initialised(t);
    const given = svixExport();
    const application = only(given.applications);
    const [endpoint] = application.endpoints.data;
    const endpoints = Array.from({ length: 51 }, (_, n) => ({ ...endpoint, id: `ep_${n}` }));
    const many = (uid: string) => ({ ...given, applications: [{ ...application, uid, endpoints }] });
    const report = await folder.json<Report>(['import', 'svix', '-', '--apply'], JSON.stringify(many('acct_17')));
    assert.deepEqual([report.made, report.refused], [53, 0]);
    await folder.json(['customer', 'create', '--name', 'Small', '--external-id', 'small', '--max-endpoints', '50']);
    const full = await folder.run(['import', 'svix', '-', '--json'], JSON.stringify(many('small')));
    const reasons = (JSON.parse(full.stdout) as Report).rows.flatMap(({ reason }) => reason ?? []);
    assert.equal(full.status, 1);
    assert.match(only(reasons), /has 50 of at most 50 endpoints/);
  });

  it('refuses wrong options and files with the file and the place, and makes nothing', async (t) => {
    const { run, json, dataDir } = await initialised(t);
    const place = dirname(dataDir);
    const large = join(place, 'large.json');
    writeFileSync(large, '');
    truncateSync(large, 64 * 1024 * 1024 + 1);
    const text = JSON.stringify(svixExport());
    const other = join(place, 'other.json');
    writeFileSync(other, JSON.stringify({ tenants: [{ id: 'a', destinations: 7 }] }));
    const cut = join(place, 'cut.json');
    const pretty = JSON.stringify(svixExport(), null, 1);
    writeFileSync(cut, pretty.slice(0, pretty.indexOf(SVIX_SECRET) + SVIX_SECRET.length));
    const WRONG: readonly (readonly [args: readonly string[], input: string, status: number, wanted: RegExp])[] = [
      [['svix', '-'], '{"applications": [', 2, /standard input is not JSON/],
      [['svix', cut], '', 2, /cut\.json is not JSON: it ends too early at line \d+, column \d+/],
      [['svix', '-'], '[]', 1, /standard input: the export must be an object with applications and eventTypes/],
      [['outpost', '-'], text, 1, /standard input: the export must be an object with tenants and topics/],
      [['outpost', other], '', 1, /other\.json: tenants\[0\]\.destinations must be a list/],
      [['svix', join(place, 'absent.json')], '', 1, /absent\.json cannot be read \(ENOENT\)/],
      [['svix', large], '', 1, /large\.json has more than 67108864 bytes/],
      [['svix', '-', '--rename', 'a'], text, 2, /--rename must be <old>=<new>/],
      [['svix', '-', '--channels-at', 'type'], text, 2, /--channels-at must be subject or a path/],
      [['svix', '-', '--retry-delays', '5,x'], text, 2, /--retry-delays must be 1 to 50 numbers/],
      [['svix', '-', '--header-prefix', 'a b'], text, 2, /--header-prefix must be the beginning/],
      [['svix'], '', 2, /Missing argument <file>/],
    ];
    for (const [args, input, status, wanted] of WRONG) {
      const result = await run(['import', ...args], input);
      assert.equal(result.status, status, result.stderr);
      assert.match(result.stderr, wanted);
      assert.equal(result.stdout, '');
      assert.ok(!result.stderr.includes(SVIX_SECRET.slice('whsec_'.length)), result.stderr);
    }
    assert.deepEqual((await json<Page>(['customer', 'list'])).items, []);
    assert.equal(
      (await run(['import', 'svix', '-'], '{"applications":[],"eventTypes":[]}')).stdout,
      'The export is empty.\n',
    );
  });
});
