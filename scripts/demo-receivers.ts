/**
 * `npm run demo:receivers` delivers one event to ten receivers that others wrote, each in the format, with the authentication or the
 * signature that it expects, and prints what each one verified. `--keep` leaves everything running until Ctrl-C, with the addresses.
 * `--json` prints one JSON object. Leaves out receivers whose programs are not installed, and names the package that has them. Exits with 1
 * unless all ten verified the event.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeCertificate } from '../src/cli/listen/self-signed.ts';
import { describeMissing, missingOf } from '../test/support/programs.ts';
import { type Api, createApi, EDGE, requestToken } from './demo/api.ts';
import { LIBRARIES } from './demo/others/libraries.ts';
import { PROGRAMS } from './demo/others/programs.ts';
import type { OtherReceiver, Receiving } from './demo/others/receiving.ts';
import { createStage, type Stage } from './demo/processes.ts';
import { jsonStory, reasonOf, type Story, terminalStory } from './demo/story.ts';

const OTHERS: readonly OtherReceiver[] = [...LIBRARIES, ...PROGRAMS];
const TYPE = 'order.created';
const WAIT_MS = 20_000;
const DATA = { orderId: 42, name: 'Zoë', total: 17.5 };

type Connected = { readonly other: OtherReceiver; readonly receiving: Receiving; readonly webhookId: string };
type Scene = {
  readonly story: Story;
  readonly stage: Stage;
  readonly admin: Api;
  /** The certificate that all receivers share. */
  readonly certificate: string;
  /** Called with each receiver that runs. */
  readonly running: (receiving: Receiving) => void;
};

await main();

async function main(): Promise<void> {
  const { stdout } = process;
  const { values } = parseArgs({ options: { json: { type: 'boolean' }, keep: { type: 'boolean' } } });
  const write = (text: string): unknown => stdout.write(text);
  const inColour = stdout.isTTY === true && !process.env.NO_COLOR;
  const story = values.json === true ? jsonStory(write) : terminalStory(write, inColour);
  const stage = createStage();
  const receivers: Receiving[] = [];
  const clear = async (): Promise<void> => {
    for (const receiving of receivers.splice(0)) await receiving.stop();
    await stage.clear();
  };
  const interrupted = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.once(signal, () => {
        resolve();
        void clear().then(() => process.kill(process.pid, signal));
      });
  });
  let reason: string | null = null;
  try {
    const verified = await play(story, stage, (receiving) => void receivers.push(receiving));
    if (verified < OTHERS.length) reason = `${verified} of ${OTHERS.length} receivers verified the event`;
    else if (values.keep === true) {
      story.end(null);
      write('\nEverything keeps running until you press Ctrl-C.\n');
      await interrupted;
    }
  } catch (error) {
    reason = reasonOf(error);
  }
  await clear();
  if (values.keep !== true || reason !== null) story.end(reason);
  process.exitCode = reason === null ? 0 : 1;
}

/** Returns how many receivers verified the event. */
async function play(story: Story, stage: Stage, running: Scene['running']): Promise<number> {
  story.chapter('Sallyport');
  const { certificate, privateKey } = makeCertificate(['127.0.0.1', 'localhost'], Date.now());
  const files = { certificateFile: join(stage.folder, 'receivers.pem'), keyFile: join(stage.folder, 'receivers.key') };
  writeFileSync(files.certificateFile, certificate);
  writeFileSync(files.keyFile, privateKey, { mode: 0o600 });
  const admin = await story.step('start', 'Sallyport with an empty data folder', async (tell) => {
    const service = await stage.startService({
      SALLYPORT_CA_FILE: files.certificateFile,
      SALLYPORT_EGRESS_ALLOW: '127.0.0.1/32',
      SALLYPORT_LOG_LEVEL: 'warn',
    });
    tell.fact('url', service.url);
    const api = createApi(service.url, (await requestToken(service.url, service)).access_token);
    await api.call(201, 'POST', `${EDGE}/event-types`, { name: TYPE });
    return api;
  });
  const scene: Scene = { story, stage, admin, certificate, running };
  story.chapter('Ten receivers that others wrote');
  const connected: Connected[] = [];
  for (const other of OTHERS) {
    const one = await connect(scene, other, files);
    if (one !== null) connected.push(one);
  }
  story.chapter('One event');
  const eventId = await story.step('publish', `${TYPE} is published once`, async (tell) => {
    const events = [{ type: TYPE, data: DATA }];
    const { body } = await admin.call<{ events: { id: string }[] }>(202, 'POST', `${EDGE}/events`, { events });
    const id = body.events[0]?.id ?? '';
    tell.fact('id', id);
    return id;
  });
  let verified = 0;
  for (const one of connected) if (await verify(scene, one, eventId)) verified += 1;
  return verified;
}

type Files = { readonly certificateFile: string; readonly keyFile: string };

/** Starts the receiver and a webhook that sends what it expects. Null if its programs are not installed. */
function connect(scene: Scene, other: OtherReceiver, files: Files): Promise<Connected | null> {
  const { story, stage, admin, running } = scene;
  const { name, title } = other;
  return story.step(`start-${name}`, `${title} (${other.package})`, async (tell) => {
    const missing = missingOf(other.programs);
    if (missing.length > 0) {
      tell.fact('left out', describeMissing(missing));
      return null;
    }
    const folder = join(stage.folder, name);
    mkdirSync(folder);
    const secret = randomBytes(32).toString('base64');
    const receiving = await other.start({ folder, secret, requestOrigin: new URL(admin.url).hostname, ...files });
    running(receiving);
    const { url, webhook } = receiving;
    const wanted = { name, url, secret, ...receiving.endpoint };
    const { body: endpoint } = await admin.call<Endpoint>(201, 'POST', `${EDGE}/endpoints`, wanted);
    const { lastVerification } = endpoint;
    if (lastVerification !== null) {
      if (!lastVerification.verified) throw new Error(`the handshake failed: ${lastVerification.error}`);
      tell.fact('allowed requests a minute', endpoint.allowedRequestsPerMinute);
    }
    const subscribed = { name, endpointId: endpoint.id, eventTypes: [TYPE], heartbeatSeconds: 0, ...webhook };
    const { body } = await admin.call<{ id: string }>(201, 'POST', `${EDGE}/webhooks`, subscribed);
    await admin.call(200, 'POST', `${EDGE}/webhooks/${body.id}/start`);
    tell.fact('sends', webhook);
    return { other, receiving, webhookId: body.id };
  });
}

type Endpoint = {
  readonly id: string;
  readonly allowedRequestsPerMinute: number | null;
  readonly lastVerification: { readonly verified: boolean; readonly error: string | null } | null;
};

/** Whether the receiver verified the event, answered with success, and refuses a request that nobody signed. */
async function verify(scene: Scene, { other, receiving, webhookId }: Connected, eventId: string): Promise<boolean> {
  const work = scene.story.step(other.name, other.title, async (tell) => {
    try {
      const words = await within(receiving.verified(eventId));
      await within(delivered(scene.admin, webhookId));
      const status = await postUnsigned(receiving.url, scene.certificate);
      if (status < 400) throw new Error(`it also accepts a request that nobody signed, with ${status}`);
      tell.fact('verified', words);
      tell.fact('an unsigned request', status);
    } catch (error) {
      tell.line(reasonOf(error));
      throw error;
    }
  });
  return work.then(
    () => true,
    () => false,
  );
}

async function within<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came within ${WAIT_MS / 1000} s`)), WAIT_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Waits until Sallyport has settled the delivery. Rejects unless it was delivered. */
async function delivered(admin: Api, webhookId: string): Promise<void> {
  for (;;) {
    type Deliveries = { readonly items: readonly { readonly state: string; readonly attemptCount: number }[] };
    const { body } = await admin.call<Deliveries>(200, 'GET', `${EDGE}/deliveries?webhookId=${webhookId}`);
    const [delivery] = body.items;
    if (delivery?.state === 'delivered') return;
    if (delivery !== undefined && delivery.attemptCount > 0) throw new Error(`the delivery is ${delivery.state}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The status of the answer to a request without any signature or secret. */
function postUnsigned(url: string, ca: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', ca, headers: { 'content-type': 'application/json' }, agent: false };
    const sent = request(url, options, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.once('error', reject);
    sent.end('{}');
  });
}
