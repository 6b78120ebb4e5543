/**
 * `npm run demo:forward-auth` shows nginx in front of an API that checks nothing itself: nginx asks Sallyport about every request. `--json`
 * prints one JSON object instead of text. Exits with 1 and the reason if nginx is not installed or an answer is not the expected one.
 */
import { parseArgs } from 'node:util';
import { IDENTITY_HEADERS } from '../src/http/routes/forward-auth.ts';
import { type RunningProxy, startNginx } from '../test/support/proxies.ts';
import { type RawRequest, sendRaw } from '../test/support/raw-request.ts';
import { startUpstream, type Upstream } from '../test/support/upstream.ts';
import { type Api, createApi, EDGE, requestToken } from './demo/api.ts';
import { createStage, type Stage } from './demo/processes.ts';
import { jsonStory, reasonOf, type Story, terminalStory } from './demo/story.ts';

const PRODUCT = {
  name: 'Shop',
  scopes: [{ name: 'orders:view' }, { name: 'orders:edit' }, { name: 'shop:admin' }],
  rules: [
    { methods: ['GET'], path: '/shop/orders/{id}', scope: 'orders:view' },
    { methods: ['PUT'], path: '/shop/orders/{id}', scope: 'orders:edit' },
    { methods: ['GET'], path: '/shop/admin/{rest*}', scope: 'shop:admin' },
  ],
};

/** Ambiguous paths, which some servers interpret as another path. */
const TRICKS = [
  '/shop/orders/../admin/users',
  '/shop/orders/%2e%2e/admin/users',
  '/shop/orders/..%2Fadmin',
  '/shop//orders/17',
  '/shop/orders/17;x=1',
  '/shop/orders/17/',
  '/SHOP/orders/17',
];

type RefusedCall = readonly [method: string, path: string, told: Told];
const REFUSALS: readonly (readonly [name: string, title: string, calls: readonly RefusedCall[]])[] = [
  ['anonymous', 'Without a token', [['GET', '/shop/orders/17', { refused: 'Bearer', token: null }]]],
  [
    'unknown',
    'With an unknown token',
    [['GET', '/shop/orders/17', { refused: 'invalid_token', token: 'spt_made-up' }]],
  ],
  [
    'scope',
    'Without the scope',
    [
      ['PUT', '/shop/orders/17', { refused: 'orders:edit', body: '{"paid":true}' }],
      ['GET', '/shop/admin/users', { refused: 'shop:admin' }],
    ],
  ],
  [
    'rules',
    'No rule matches the path or the method',
    [
      ['GET', '/shop/secrets', { refused: 'insufficient_scope' }],
      ['DELETE', '/shop/orders/17', { refused: 'insufficient_scope' }],
    ],
  ],
  [
    'claims',
    'The client sends headers that name another path',
    [
      ['GET', '/shop/admin/users', { refused: 'shop:admin', headers: ['X-Original-URI: /shop/orders/17'] }],
      ['GET', '/shop/admin/users', { refused: 'shop:admin', headers: ['X-Forwarded-Uri: /shop/orders/17'] }],
    ],
  ],
  ['paths', 'Ambiguous paths', TRICKS.map((path) => ['GET', path, { refused: 'insufficient_scope' }] as const)],
];

type Clearing = (stop: () => Promise<void>) => void;

await main();

async function main(): Promise<void> {
  const { stdout } = process;
  const { values } = parseArgs({ options: { json: { type: 'boolean' } } });
  const write = (text: string): unknown => stdout.write(text);
  const story =
    values.json === true ? jsonStory(write) : terminalStory(write, stdout.isTTY === true && !process.env.NO_COLOR);
  const stage = createStage();
  const stops: (() => Promise<void>)[] = [stage.clear];
  const clear = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void clear().then(() => process.kill(process.pid, signal)));
  }
  let reason: string | null = null;
  try {
    await play(story, stage, (stop) => void stops.push(stop));
  } catch (error) {
    reason = reasonOf(error);
  }
  await clear();
  story.end(reason);
  process.exitCode = reason === null ? 0 : 1;
}

async function play(story: Story, stage: Stage, clearing: Clearing): Promise<void> {
  story.chapter('Three programs start');
  const upstream = await story.step('upstream', 'An API that checks nothing', async (tell) => {
    const started = await startUpstream();
    clearing(started.close);
    tell.fact('url', started.url);
    return started;
  });
  const service = await story.step('service', 'Sallyport with an empty data folder', async (tell) => {
    const started = await stage.startService({ SALLYPORT_LOG_LEVEL: 'warn' });
    tell.fact('url', started.url);
    return started;
  });
  const proxy = await story.step('nginx', 'nginx with docs/examples/nginx.conf, in front of the API', async (tell) => {
    const started = await startNginx({ sallyport: service.url, upstream: upstream.url });
    clearing(started.stop);
    tell.fact('url', started.url);
    return started;
  });
  const admin = createApi(service.url, (await requestToken(service.url, service)).access_token);
  const { token, revoke } = await setUp(story, admin);
  await showAllowed({ story, proxy, upstream, token });
  await showRefused({ story, proxy, upstream, token });

  story.chapter('Revocation');
  await story.step('revoke', 'The administrator revokes the tokens of the application', revoke);
  const call = callThrough({ proxy, upstream, token });
  await story.step('revoked', 'The same request is refused now', async (tell) => {
    tell.line(await call('GET', '/shop/orders/17', { refused: 'invalid_token' }));
  });
}

type SetUp = { readonly token: string; readonly revoke: () => Promise<void> };

async function setUp(story: Story, admin: Api): Promise<SetUp> {
  story.chapter('The API catalogue');
  await story.step('product', 'A product with scopes and rules', async (tell) => {
    await admin.call(201, 'POST', `${EDGE}/products`, PRODUCT);
    for (const { methods, path, scope } of PRODUCT.rules) tell.line(`${methods.join(',')} ${path} needs ${scope}`);
  });
  const application = await story.step('application', 'An application that may view orders', async (tell) => {
    const permissions = ['orders:view'];
    const { body: user } = await admin.call(201, 'POST', `${EDGE}/users`, { userName: 'grace', permissions });
    const wanted = { name: 'Web shop', userId: user.id, scopes: permissions };
    const made = await admin.call<{ id: string; clientId: string; clientSecret: string }>(
      201,
      'POST',
      `${EDGE}/applications`,
      wanted,
    );
    tell.fact('clientId', made.body.clientId);
    tell.fact('actsAs', 'grace');
    return made.body;
  });
  const { access_token: token } = await story.step('token', 'The application gets an access token', async (tell) => {
    const issued = await requestToken(admin.url, application);
    tell.fact('scope', issued.scope);
    return issued;
  });
  const revoke = async (): Promise<void> => {
    await admin.call(200, 'POST', `${EDGE}/applications/${application.id}/revoke-tokens`);
  };
  return { token, revoke };
}

type Behind = { readonly proxy: RunningProxy; readonly upstream: Upstream; readonly token: string };
type Scene = Behind & { readonly story: Story };

async function showAllowed({ story, proxy, upstream, token }: Scene): Promise<void> {
  story.chapter('Allowed requests');
  const call = callThrough({ proxy, upstream, token });
  await story.step(
    'allowed',
    'The API gets the request and the identity of the caller, but not the token',
    async (tell) => {
      tell.line(await call('GET', '/shop/orders/17?expand=lines', { allowed: true }));
      const seen = upstream.requests.at(-1);
      if (seen?.header('authorization').length !== 0) throw new Error('the API got the token');
      tell.block(
        'at the API',
        IDENTITY_HEADERS.map((name) => `${name}: ${seen?.header(name.toLowerCase()).join()}`).join('\n'),
      );
    },
  );
  await story.step('forged', 'Forged identity headers are replaced', async (tell) => {
    const headers = [...IDENTITY_HEADERS.map((name) => `${name}: forged`), 'X_Auth_User_Name: forged'];
    tell.line(await call('GET', '/shop/orders/17', { allowed: true, headers }));
    const seen = upstream.requests.at(-1);
    const values = IDENTITY_HEADERS.map((name) => `${name}: ${seen?.header(name.toLowerCase()).join()}`);
    const forged = seen?.headerNames.some((name) => name.includes('_')) === true;
    if (forged || values.join().includes('forged')) throw new Error('a forged header passed');
    tell.block('at the API', values.join('\n'));
  });
}

async function showRefused({ story, proxy, upstream, token }: Scene): Promise<void> {
  story.chapter('Refused requests, which do not reach the API');
  const call = callThrough({ proxy, upstream, token });
  for (const [name, title, calls] of REFUSALS) {
    await story.step(name, title, async (tell) => {
      for (const [method, path, told] of calls) tell.line(await call(method, path, told));
    });
  }
}

type Told = Omit<RawRequest, 'method'> & {
  /** The token to send. Default: the application's; null sends none. */
  readonly token?: string | null;
} & ({ readonly allowed: true } | { readonly refused: string });

/** Sends one request to nginx. Checks the response and whether the API received the request. Returns a line that describes the call. */
function callThrough(behind: Behind): (method: string, path: string, told: Told) => Promise<string> {
  return async (method, path, told) => {
    const { token = behind.token, headers = [], ...request } = told;
    const heard = behind.upstream.requests.length;
    const answer = await sendRaw(behind.proxy.port, path, {
      ...request,
      method,
      headers: [...(token === null ? [] : [`Authorization: Bearer ${token}`]), ...headers],
    });
    const challenge = answer.header('WWW-Authenticate') ?? '';
    const arrived = behind.upstream.requests.length - heard;
    const claimed = headers.length === 0 ? '' : ` with ${headers.join(', ')}`;
    const line = `${method} ${path}${claimed} → ${answer.status} ${challenge}`.trimEnd();
    const asTold =
      'allowed' in told
        ? answer.status === 200 && arrived === 1
        : answer.status === 401 && challenge.includes(told.refused) && arrived === 0;
    if (!asTold) throw new Error(`unexpected: ${line}, and the API got ${arrived} requests`);
    return line;
  };
}
