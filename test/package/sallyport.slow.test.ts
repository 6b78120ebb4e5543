import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { buildSync } from 'esbuild';
import { ASSETS, type AssetName, assetFile } from '../../src/kernel/assets.ts';
import { VERSION } from '../../src/kernel/version.ts';
import { testEndToEnd } from '../support/command-circle.ts';
import { deadLinks, installPacked, type Project, runFile, typeErrors } from '../support/packed.ts';

const PROGRAM = `
import * as sallyport from 'sallyport';
import * as receiver from 'sallyport/receiver';
import * as pgp from 'sallyport/receiver/pgp';
import description from 'sallyport/package.json' with { type: 'json' };

const service = await sallyport.createSallyport({ dataDir: './embedded', port: 0, logLevel: 'silent' });
const { url } = await service.start();
const { status } = await fetch(new URL('/readyz', url));
await service.stop();
console.log(JSON.stringify({
  version: description.version,
  status,
  exported: [sallyport, receiver, pgp].map((module) => Object.keys(module).sort()),
}));
`;

const TYPED = `
import { createServer } from 'node:http';
import {
  type Caller,
  type Config,
  ConfigurationError,
  callerOf,
  createSallyport,
  DataFolderError,
  type Customer,
  type CustomerInput,
  type Embedding,
  type EventInput,
  type Logger,
  type Middleware,
  type Options,
  type Page,
  type Program,
  type PublishInput,
  Refusal,
  type RefusalCode,
  readConfig,
  type Sallyport,
  StoppedError,
} from 'sallyport';
import { createReceiver, nodeHandler } from 'sallyport/receiver';
import { pgpDecryption } from 'sallyport/receiver/pgp';

const config: Config = readConfig(process.env);
const log: Logger = console;
const sallyport: Sallyport = await createSallyport({ ...config, log });
const options: Options = { dataDir: './data', egressAllow: ['10.0.0.0/8'], egressProxy: 'http://proxy.example:3128' };
export const others: Promise<Sallyport>[] = [createSallyport(options), createSallyport({ dataDir: './data' }), createSallyport()];
// @ts-expect-error unknown option
createSallyport({ datadir: './data' });
// @ts-expect-error a port is a number
createSallyport({ port: '8080' });
const embedding: Embedding = sallyport;
const guard: Middleware = embedding.guard('orders:create');
createServer((request, response) => guard(request, response, () => {
  const caller: Caller = callerOf(request);
  response.end(caller.userName);
}));
const input: CustomerInput = { name: 'Acme', metadata: { plan: 'small' } };
const customer: Customer = await sallyport.customers.create(input);
const all: Page<Customer> = await sallyport.customers.list({ active: true, sort: '-name' });
await sallyport.customers.update(all.items[0]?.id ?? customer.id, { metadata: { plan: null } });
export const limited = (caller: Caller): Program => sallyport.as(caller);
// @ts-expect-error unknown field
sallyport.customers.create({ name: 'Acme', colour: 'red' });
// @ts-expect-error one parameter
createSallyport({}, console);
const { events } = await sallyport.publish({ type: 'order.created', data: {} });
export const id: string | undefined = events[0]?.id;
// @ts-expect-error unknown member
events[0]?.colour;
const event: EventInput = { type: 'order.created', data: { at: new Date(), lines: [{ sku: 'a', price: null }] }, actorId: undefined };
export const inputs: PublishInput[] = [event, { events: [event, event] }];
// @ts-expect-error type is required
sallyport.publish({ data: {} });
// @ts-expect-error not a JSON number
sallyport.publish({ type: 'order.created', data: { total: 1n } });
// @ts-expect-error not a JSON value
sallyport.publish({ type: 'order.created', data: { lines: new Map() } });
// @ts-expect-error unknown field
sallyport.publish({ type: 'order.created', data: {}, colour: 'red' });
try {
  await sallyport.publish(event);
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  const code: RefusalCode = error.code;
  const status: number = error.status;
  console.log(code, status, error.details?.map(({ field, problem }) => field + ' ' + problem), error instanceof StoppedError);
}
// @ts-expect-error a scope is a string
sallyport.guard(17);
export const errors: Error[] = [new ConfigurationError('a'), new DataFolderError('b')];
createServer(nodeHandler(createReceiver({ secrets: 's', decrypt: pgpDecryption({}), onRecords: () => {} })));
`;

describe('the package sallyport', () => {
  let project: Project;
  before(() => {
    project = installPacked('build-package.ts');
  });

  it('contains only code, types, the files that it reads, and pages', () => {
    const read = (Object.keys(ASSETS) as AssetName[])
      .filter((name) => assetFile(name) instanceof URL)
      .map((name) => ASSETS[name]);
    assert.deepEqual(
      read.filter((path) => !project.packed.includes(path)),
      [],
    );
    const known: readonly string[] = ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'package.json', ...read];
    const others = project.packed.filter((path) => !known.includes(path));
    assert.deepEqual(
      others.filter(
        (path) => !/^lib\/[\w/-]+(\.d\.ts|\.js)$|^docs\/|^dist\/sallyport-receiver-[\d.]+\.tgz$/.test(path),
      ),
      [],
    );
    assert.ok(others.includes('lib/sallyport.d.ts') && others.includes('docs/embedding.md'));
  });

  it('has its own README, about the package and not about a checkout', () => {
    const text = readFileSync(installed('README.md'), 'utf8');
    assert.match(text, /^# sallyport\n[\s\S]*^npx sallyport serve$[\s\S]*^\| `SALLYPORT_DATA` \|/m);
    assert.doesNotMatch(text, /npm (?:start|test|run)|\bsrc\/|scripts\/|\{\{/);
  });

  it('has no dead links in its pages', () => {
    assert.deepEqual(deadLinks(project, 'sallyport'), []);
  });

  it('has the dependencies of the project, except Node, and the client of PostgreSQL only for who installs it', () => {
    const description = JSON.parse(readFileSync(installed('package.json'), 'utf8'));
    const root = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    const types = '@types/better-sqlite3';
    const { version, dependencies, optionalDependencies, engines, peerDependencies, peerDependenciesMeta } =
      description;
    const { pg, ...required } = root.dependencies;
    assert.deepEqual(
      [version, optionalDependencies, engines, dependencies],
      [VERSION, undefined, root.engines, { ...required, [types]: root.devDependencies[types] }],
    );
    assert.deepEqual([peerDependencies, peerDependenciesMeta], [{ pg: `~${pg}` }, { pg: { optional: true } }]);
    assert.ok(!readdirSync(join(project.folder, 'node_modules')).some((name) => /^node-linux|^pg$/.test(name)));
  });

  it('says what to install for PostgreSQL', () => {
    const program = `
import { createSallyport } from 'sallyport';
await createSallyport({ databaseUrl: 'postgres://localhost/sallyport' }).catch(({ name, message }) => console.log(name, message));`;
    assert.match(
      runFile(project, 'postgres.mjs', program),
      /^DataFolderError .*the package pg is not installed: npm install pg@8\.23$/m,
    );
  });

  it('can be embedded in a JavaScript program, with all its exports', () => {
    const { version, status, exported } = JSON.parse(runFile(project, 'program.js', PROGRAM));
    assert.deepEqual([version, status], [VERSION, 200]);
    assert.deepEqual(exported, [
      ['ConfigurationError', 'DataFolderError', 'Refusal', 'StoppedError', 'callerOf', 'createSallyport', 'readConfig'],
      [
        'CatchUpError',
        'catchUp',
        'createReceiver',
        'eventFormats',
        'fastifyPlugin',
        'fetchHandler',
        'memorySeen',
        'nodeHandler',
        'publicKeyWebhooks',
        'pull',
        'standardWebhooks',
      ],
      ['pgpDecryption'],
    ]);
  });

  it('can be embedded in a bundled program that leaves the package external', () => {
    const { outputFiles } = buildSync({
      stdin: { contents: PROGRAM, resolveDir: project.folder },
      bundle: true,
      minify: true,
      platform: 'node',
      format: 'esm',
      external: ['sallyport'],
      write: false,
    });
    const { status } = JSON.parse(runFile(project, 'bundled.js', outputFiles[0]?.text ?? ''));
    assert.equal(status, 200);
  });

  it('has types for all exports, which compile under every strict setting', () => {
    writeFileSync(join(project.folder, 'typed.ts'), TYPED);
    const settings = { types: ['node'], exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
    assert.equal(typeErrors(project, ['typed.ts'], { lib: ['es2023'], ...settings }), '');
  });

  it('brings the command, which can issue a token and deliver a webhook', async (t) => {
    const folder = join(project.folder, 'served');
    mkdirSync(folder);
    const file = join(project.folder, 'node_modules', '.bin', 'sallyport');
    await testEndToEnd(t, { file, folder, env: { PATH: dirname(process.execPath) } });
  });

  function installed(path: string): string {
    return join(project.folder, 'node_modules', 'sallyport', path);
  }
});
