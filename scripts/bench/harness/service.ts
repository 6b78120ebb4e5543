/** The real service in a process of its own, as `sallyport serve` runs it: default settings, its data folder on the disk. */
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Api, createApi, EDGE, EMPLOYEES, requestToken } from '../../demo/api.ts';
import { firstLine, type Running, type StartOptions, start, startNode } from './processes.ts';

export { EDGE } from '../../demo/api.ts';
export const TOKEN_PATH = '/services/api/oauth2/token';

export type Credentials = { readonly clientId: string; readonly clientSecret: string };

export type Service = {
  readonly url: string;
  readonly pid: number;
  readonly dataDir: string;
  readonly credentials: Credentials;
  /** With every administration scope, as `adminToken` has it. */
  readonly admin: Api;
  readonly adminToken: string;
  /** When it was ready: on the clock of `performance.now`. */
  readonly readyMs: number;
  stop(): Promise<void>;
};

export type ServiceOptions = {
  readonly dataDir: string;
  /** Of a folder that has had its first start. */
  readonly credentials?: Credentials;
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeFlags?: readonly string[] | undefined;
  /** Another program than `src/main.ts`. */
  readonly main?: string | undefined;
  /** The single binary, in place of the sources. */
  readonly binary?: string | undefined;
};

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** Its log goes to a file beside the data folder. It is ready once it has said where it listens, and `whenReady` has resolved. */
export async function startService(
  { dataDir, env = {}, ...options }: ServiceOptions,
  whenReady: (service: { readonly url: string }) => Promise<void> = async () => {},
): Promise<Service> {
  mkdirSync(dirname(dataDir), { recursive: true });
  const log = openSync(`${dataDir}.log`, 'a');
  const serve = ['serve', '--json', '--port', '0', '--data', dataDir];
  const { nodeFlags = [], main = MAIN } = options;
  const [file = main, ...rest] = [...nodeFlags, main];
  const how: StartOptions = { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', log] };
  const running =
    options.binary === undefined ? startNode(file, [...rest, ...serve], how) : start(options.binary, serve, how);
  closeSync(log);
  const announced = await firstLine<{ url: string } & Partial<Credentials>>(running, 'sallyport serve');
  await whenReady(announced);
  const readyMs = performance.now();
  const { url, clientId, clientSecret } = announced;
  const credentials =
    clientId === undefined || clientSecret === undefined ? options.credentials : { clientId, clientSecret };
  if (credentials === undefined) throw new Error(`${dataDir} is not new, and its credentials were not given`);
  if (clientId !== undefined) await allowADay(url, credentials);
  const token = (await requestToken(url, credentials)).access_token;
  return {
    url,
    pid: running.pid,
    dataDir,
    credentials,
    readyMs,
    admin: createApi(url, token),
    adminToken: token,
    stop: () => stopService(running),
  };
}

/** Of a new service, which has one application. By default a token is valid for an hour, and some measurements take longer. */
async function allowADay(url: string, credentials: Credentials): Promise<void> {
  const admin = createApi(url, (await requestToken(url, credentials)).access_token);
  const { body } = await admin.call<{ items: readonly { id: string }[] }>(200, 'GET', `${EDGE}/applications`);
  for (const { id } of body.items)
    await admin.call(200, 'PATCH', `${EDGE}/applications/${id}`, { accessTokenValiditySeconds: 86_400 });
}

async function stopService(running: Running): Promise<void> {
  await running.stop('SIGTERM');
  const how = await running.exited;
  if (how !== '0') throw new Error(`sallyport serve ended with ${how}`);
}

/** Applications bound to a user who may read employees, and may do nothing else. */
export async function registerReaders({ admin }: Service, count: number): Promise<Credentials[]> {
  const permissions = ['employees:view'];
  const user = await admin.call<{ id: string }>(201, 'POST', `${EDGE}/users`, {
    userName: 'reader',
    displayName: 'Reader',
    role: 'service',
    permissions,
  });
  const readers: Credentials[] = [];
  for (let n = 0; n < count; n += 1) {
    const application = { name: `reader ${n}`, userId: user.body.id, scopes: permissions };
    readers.push((await admin.call<Credentials>(201, 'POST', `${EDGE}/applications`, application)).body);
  }
  return readers;
}

/** An employee to read, and the application that made it and may read it. */
export async function createEmployee(service: Service): Promise<{ path: string; applicationId: string }> {
  const permissions = ['employees:create', 'employees:view'];
  const { admin } = service;
  const user = await admin.call<{ id: string }>(201, 'POST', `${EDGE}/users`, {
    userName: 'clerk',
    displayName: 'Clerk',
    role: 'service',
    permissions,
  });
  const application = { name: 'clerk', userId: user.body.id, scopes: permissions };
  const created = await admin.call<Credentials & { id: string }>(201, 'POST', `${EDGE}/applications`, application);
  const { access_token: token } = await requestToken(service.url, created.body);
  const { body } = await admin.as(token).call<{ userId: string }>(201, 'POST', EMPLOYEES, EMPLOYEE);
  return { path: `${EMPLOYEES}/${body.userId}`, applicationId: created.body.id };
}

/** The employee that every contender of the guard bench returns. */
export const EMPLOYEE = {
  externalId: '4711',
  userName: 'jane.roe',
  firstName: 'Jane',
  lastName: 'Roe',
  email: 'jane.roe@example.com',
  division: 'sales',
  managerId: null,
  hireDate: '2026-01-01',
};
