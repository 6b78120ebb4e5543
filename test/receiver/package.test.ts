import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { VERSION } from '../../src/kernel/version.ts';
import { borrow, deadLinks, type Project, runFile, typeErrors } from '../support/packed.ts';
import { receiverProject } from '../support/receiver-package.ts';
import { SECRET, signedRequest } from '../support/signed-request.ts';

/** Passes the request on standard input to every adapter. */
const PROGRAM = `
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request as send } from 'node:http';
import { createReceiver, fetchHandler, memorySeen, nodeHandler, standardWebhooks } from 'sallyport-receiver';

const { method, path, headers, body } = JSON.parse(readFileSync(0, 'utf8'));
const bytes = Buffer.from(body, 'base64');
const handled = [];
const make = () => createReceiver({
  secrets: ['another', ${JSON.stringify(SECRET)}],
  seen: memorySeen(10),
  standardWebhooks,
  onRecords: (records) => void handled.push(records[0].data.orderId),
});

const direct = await make().receive({ method, pathAndQuery: path, headers, body: bytes });
const web = await fetchHandler(make())(new Request('https://hooks.example.com' + path, { method, headers, body: bytes }));
const server = createServer(nodeHandler(make())).listen(0, '127.0.0.1');
await once(server, 'listening');
const client = send({ port: server.address().port, host: '127.0.0.1', method, path, headers: Object.fromEntries(headers) });
client.end(bytes);
const [response] = await once(client, 'response');
response.resume();
server.close();
console.log(JSON.stringify({ handled, statuses: [direct.status, web.status, response.statusCode] }));
`;

const TYPED = `
import { createReceiver, fetchHandler, type RecordOf, type Refusal, type SeenStore } from 'sallyport-receiver';
import { pgpDecryption } from 'sallyport-receiver/pgp';

type Events = { 'order.created': { orderId: number }; 'order.paid': { amount: string } };
const seen: SeenStore = { find: async () => [], add: async () => {} };

function total(record: RecordOf<Events>): number {
  if (record.eventType === 'order.created') return record.data.orderId;
  // @ts-expect-error the data of order.paid has an amount
  record.data.orderId;
  return Number(record.data.amount);
}

const receiver = createReceiver<Events>({
  secrets: ['a', 'b'],
  seen,
  decrypt: pgpDecryption({ shop: { privateKey: '' } }),
  onRecords: async (records, { attemptNumber }) => {
    const sum: number = records.map(total).reduce((one, other) => one + other, attemptNumber);
    sum.toFixed();
  },
  onRefusal: ({ code }: Refusal) => code === 'stale_date',
});
createReceiver({ secrets: 's', onRecords: ([record]) => void (record?.data satisfies unknown) });
// @ts-expect-error secrets are required
createReceiver({ onRecords: () => {} });
// @ts-expect-error unknown code
export const code: Refusal['code'] = 'no_such_code';
export const handler: (request: Request) => Promise<Response> = fetchHandler(receiver);
`;

describe('the package', () => {
  let project: Project;
  before(() => {
    project = receiverProject();
  });

  it('contains only code, types, licence, README and vectors', () => {
    const others = project.packed.filter((path) => !/^(receiver|wire)\/[\w-]+(\.d\.ts|\.js)$/.test(path));
    assert.deepEqual(
      others.filter((path) => !path.startsWith('vectors/')),
      ['LICENSE', 'README.md', 'kernel/lru.d.ts', 'kernel/lru.js', 'package.json'],
    );
    assert.ok(others.includes('vectors/requests.json') && others.includes('vectors/signing.json'));
  });

  it('has no dead links in its pages', () => {
    assert.deepEqual(deadLinks(project, 'sallyport-receiver'), []);
    const page = readFileSync(join(project.folder, 'node_modules', 'sallyport-receiver', 'README.md'), 'utf8');
    assert.ok(page.includes('has receivers in Node, Python'));
  });

  it('has the project’s version and only an optional dependency', () => {
    const installed = join(project.folder, 'node_modules', 'sallyport-receiver', 'package.json');
    const { version, dependencies, peerDependenciesMeta } = JSON.parse(readFileSync(installed, 'utf8'));
    assert.deepEqual(
      [version, dependencies, peerDependenciesMeta],
      [VERSION, undefined, { openpgp: { optional: true } }],
    );
    const lock = JSON.parse(readFileSync(join(project.folder, 'package-lock.json'), 'utf8')) as { packages: object };
    assert.deepEqual(Object.keys(lock.packages), ['', 'node_modules/sallyport-receiver']);
  });

  it('accepts a delivery in a JavaScript program with every adapter', async () => {
    const { method, path, headers, body } = await signedRequest({ gzip: true, standardWebhooks: true });
    const input = JSON.stringify({ method, path, headers, body: Buffer.from(body).toString('base64') });
    const printed = JSON.parse(runFile(project, 'program.js', PROGRAM, input)) as unknown;
    assert.deepEqual(printed, { handled: [42, 42, 42], statuses: [204, 204, 204] });
  });

  it('passes the vectors, with openpgp also the encrypted ones, and without it reports that it is missing', () => {
    const program = `
      import vectors from 'sallyport-receiver/vectors/requests.json' with { type: 'json' };
      import { createReceiver } from 'sallyport-receiver';
      import { pgpDecryption } from 'sallyport-receiver/pgp';
      const privateKeys = Object.entries(vectors.privateKeys).map(([name, privateKey]) => [name, { privateKey }]);
      const errors = [];
      const { receive } = createReceiver({
        secrets: vectors.secrets,
        decrypt: pgpDecryption(Object.fromEntries(privateKeys)),
        clock: () => Date.parse(vectors.now),
        onRecords: () => {},
        onError: (error) => errors.push(error.code),
      });
      const request = vectors.requests.find(({ name }) => name === 'gzip, then PGP');
      const { status } = await receive({ ...request, pathAndQuery: '/hooks/in', body: Buffer.from(request.bodyBase64, 'base64') });
      console.log(JSON.stringify([status, errors]));
    `;
    rmSync(join(project.folder, 'node_modules', 'openpgp'), { force: true });
    assert.deepEqual(JSON.parse(runFile(project, 'vectors.js', program)), [500, ['ERR_MODULE_NOT_FOUND']]);
    borrow(project, 'openpgp');
    assert.deepEqual(JSON.parse(runFile(project, 'vectors.js', program)), [204, []]);
  });

  it('has types for events, records and refusals, with the types of the web and of Node', () => {
    borrow(project, '@types/node');
    borrow(project, 'undici-types');
    writeFileSync(join(project.folder, 'typed.ts'), TYPED);
    assert.equal(typeErrors(project, ['typed.ts'], { lib: ['es2022', 'dom', 'dom.iterable'] }), '');
    assert.equal(
      typeErrors(project, ['typed.ts'], { lib: ['es2023'], types: ['node'], exactOptionalPropertyTypes: true }),
      '',
    );
  });
});
