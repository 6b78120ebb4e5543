/**
 * `npm run demo -- --keep`: a portal to look around in, with three customers, receivers that fail, and six days of life. New orders keep
 * coming until it is stopped; then nothing is left of it.
 */
import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '../../src/cli/listen/self-signed.ts';
import { programName } from '../../src/cli/text/program-name.ts';
import { type Config, readConfig } from '../../src/config/config.ts';
import { PORTAL_LINKS_PATH, portalLinkInput } from '../../src/customers/portal-links.ts';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { validate } from '../../src/kernel/validation.ts';
import { createLog } from '../../src/observe/log.ts';
import { openSallyport } from '../../src/open.ts';
import { countText } from '../../src/portal/parts/text.ts';
import type { Services } from '../../src/services/services.ts';
import { type Cast, makeCast } from './cast.ts';
import { openFrontDoor } from './front-door.ts';
import { buildReceiverBeside } from './receiver-package.ts';
import { type Receivers, startReceivers } from './receivers.ts';
import {
  type Chance,
  createChance,
  createLeapingClock,
  LIFE_DAYS,
  LIFE_MS,
  liveSixDays,
  publishOrders,
} from './six-days.ts';

const USUAL_PORT = 8080;
/** New orders come in this rhythm, as in the last hour of the history. */
const ORDERS_EVERY_MS = 12_000;
/** A file system in memory, which is small in some containers: the history needs a few MiB. */
const MEMORY = '/dev/shm';
const MEMORY_FREE_BYTES = 48 * 1024 ** 2;
const PORTAL_LINK_SECONDS = 86_400;

/** Runs until `stopped`. */
export async function keepDemo(write: (text: string) => unknown, stopped: Promise<unknown>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-demo-'));
  let isStopped = false;
  void stopped.then(() => {
    isStopped = true;
  });
  const past = mkdtempSync(join(historyParent(), 'sallyport-demo-'));
  const closing: (() => unknown)[] = [folder, past].map((made) => () => rmSync(made, { recursive: true, force: true }));
  try {
    const now = Date.now();
    const clock = createLeapingClock(now - LIFE_MS);
    const identity = makeCertificate(['127.0.0.1', 'localhost'], now, 30);
    const caFile = join(folder, 'receivers.pem');
    writeFileSync(caFile, identity.certificate);
    const receivers = await startReceivers(identity, () => clock.now());
    closing.push(receivers.close);
    const settings = {
      SALLYPORT_DATA: join(folder, 'data'),
      SALLYPORT_CA_FILE: caFile,
      SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8,::1',
      SALLYPORT_CUSTOMER_EGRESS_ALLOW: '127.0.0.0/8,::1',
    };
    const chance = createChance(42);
    write('Six days of three customers go by …\n');
    const { cast, published } = await makeHistory(readConfig({ ...settings, SALLYPORT_DATA: join(past, 'data') }), {
      receivers,
      clock,
      chance,
      now,
      isStopped: () => isStopped,
      dayEnds: (days, count) => write(`  day ${days} of ${LIFE_DAYS}: ${countText(count)} events so far\n`),
    });
    if (isStopped) return;
    cpSync(join(past, 'data'), settings.SALLYPORT_DATA, { recursive: true });
    rmSync(past, { recursive: true });
    // Asked only now: the history takes some seconds, in which another program may take the port.
    const port = (await freePort(USUAL_PORT)) ?? (await freePort(0)) ?? 0;
    const portal = `http://localhost:${port}`;
    // Links of the portal lead to the host that its sessions are at.
    const config = readConfig({ ...settings, SALLYPORT_PORT: String(port), SALLYPORT_PUBLIC_URL: portal });
    const { sallyport, services } = await openSallyport(config, { log: createLog('silent') });
    closing.push(() => sallyport.stop());
    await sallyport.start();
    const password = await choosePassword(services, cast);
    const door = await openFrontDoor(services, cast.administratorId, `${portal}/`);
    closing.push(door.close);
    const orders = keepPublishing(services, cast, chance, published);
    closing.push(orders.stop);
    write(await welcome(services, cast, { door: door.url, portal, password, dataDir: config.dataDir }));
    closing.push(buildReceiverBeside());
    await stopped;
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

/** Where the history is made: it has a thousand commits, and in memory an fsync is free. */
function historyParent(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > MEMORY_FREE_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

type Life = {
  readonly receivers: Receivers;
  readonly clock: ReturnType<typeof createLeapingClock>;
  readonly chance: Chance;
  readonly now: number;
  readonly isStopped: () => boolean;
  readonly dayEnds: (days: number, published: number) => void;
};

async function makeHistory(
  config: Config,
  { receivers, clock, chance, now, isStopped, dayEnds }: Life,
): Promise<{ cast: Cast; published: number }> {
  const { sallyport, services } = await openSallyport(config, {
    log: createLog('silent'),
    clock: clock.now,
    databaseThread: null,
  });
  try {
    await sallyport.credentialsShown();
    await sallyport.startDelivery();
    const cast = await makeCast(services, receivers, now);
    const published = await liveSixDays(services, { clock, cast, chance, end: now, isStopped, dayEnds });
    return { cast, published };
  } finally {
    await sallyport.stop();
  }
}

function keepPublishing(services: Services, cast: Cast, chance: Chance, published: number): { stop(): void } {
  let first = published;
  const timer = setInterval(() => {
    const count = 1 + Math.floor(chance() * 2);
    // The service may be stopping.
    publishOrders(services, cast, chance, { first, count }).catch(() => undefined);
    first += count;
  }, ORDERS_EVERY_MS);
  return { stop: () => clearInterval(timer) };
}

async function welcome(
  services: Services,
  { customers }: Cast,
  { door, portal, password, dataDir }: Record<'door' | 'portal' | 'password' | 'dataDir', string>,
): Promise<string> {
  const links: string[] = [];
  for (const { id, name } of customers) {
    const input = validate(portalLinkInput, { role: 'administrator', expiresInSeconds: PORTAL_LINK_SECONDS });
    const { token } = await services.portalLinks.create(id, input, COMMAND_LINE);
    links.push(`  ${name.padEnd(14)} ${portal}${PORTAL_LINKS_PATH}/${token}\n`);
  }
  return `
Open the portal as Anna, its administrator:

  ${door}

She can also sign in at ${portal} with the user name anna and the password ${password}

Or see what a customer sees. Each link works once, best in a private window:

${links.join('')}
In another terminal:

  ${programName(process.env, process.cwd())} deliveries list --state dead --data ${dataDir}

Ctrl-C ends the demo and removes its data.
`;
}

/** Anna's, as if she had followed an invitation. */
async function choosePassword({ invitations }: Services, { administratorId }: Cast): Promise<string> {
  const { token } = await invitations.invite(administratorId, COMMAND_LINE);
  const password = randomBytes(12).toString('base64url');
  await invitations.accept(token, { password, passwordAgain: password });
  return password;
}

/** This port, or with 0 any; null if another program listens there. */
function freePort(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(null))
      .listen(port, '127.0.0.1', () => {
        const { port: found } = server.address() as AddressInfo;
        server.close(() => resolve(found));
      });
  });
}
