/**
 * `npm run demo` shows Sallyport from a token to a delivery, with a temporary data folder. The service and a customer's receiver run in
 * their own processes. `--all-modes` also shows every other way to deliver; `--json` prints one JSON object instead of text. Exits with 1
 * and the reason if a step fails. `--keep` opens a portal to look around in instead, until Ctrl-C.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeCertificate } from '../src/cli/listen/self-signed.ts';
import { createApi, requestToken } from './demo/api.ts';
import { runCircle } from './demo/circle.ts';
import { runModes } from './demo/modes.ts';
import { createStage, type Stage } from './demo/processes.ts';
import { jsonStory, reasonOf, type Story, terminalStory } from './demo/story.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const USAGE = 'usage: npm run demo -- [--all-modes] [--json] | --keep\n';

const options = readOptions();
if (options?.keep === true) await keep();
else if (options !== null) await main(options);

type Options = { readonly json: boolean; readonly allModes: boolean; readonly keep: boolean };

async function keep(): Promise<void> {
  // Listens until the end of the process: the signal may come twice, from a process group and from the parent, and ends nothing half-way.
  const { signalled } = firstSignal();
  const { keepDemo } = await import('./demo/kept.ts');
  await keepDemo((text) => process.stdout.write(text), signalled);
  process.exit(0);
}

async function main({ json, allModes }: Options): Promise<void> {
  const { stdout } = process;
  let interrupted = false;
  const write = (text: string): unknown => interrupted || stdout.write(text);
  const story = json ? jsonStory(write) : terminalStory(write, stdout.isTTY === true && !process.env.NO_COLOR);
  const stage = createStage();
  const played = play(story, stage, allModes).then(
    () => ({ reason: null }),
    (error: unknown) => ({ reason: reasonOf(error) }),
  );
  const { signalled, release } = firstSignal();
  const end = await Promise.race([played, signalled]);
  interrupted = 'signal' in end;
  await stage.clear();
  if ('signal' in end) {
    // Without the listener, the signal ends this process as usual.
    release();
    process.kill(process.pid, end.signal);
  } else {
    story.end(end.reason);
    process.exitCode = end.reason === null ? 0 : 1;
  }
}

/** The first signal. Later ones do nothing until `release`. */
function firstSignal(): { readonly signalled: Promise<{ readonly signal: NodeJS.Signals }>; release(): void } {
  const { promise: signalled, resolve } = Promise.withResolvers<{ readonly signal: NodeJS.Signals }>();
  const listen = (signal: NodeJS.Signals): void => resolve({ signal });
  for (const signal of SIGNALS) process.on(signal, listen);
  return {
    signalled,
    release: () => {
      for (const signal of SIGNALS) process.off(signal, listen);
    },
  };
}

async function play(story: Story, stage: Stage, allModes: boolean): Promise<void> {
  story.chapter('Two processes start');
  const identity = makeCertificate(['127.0.0.1', 'localhost'], Date.now());
  const caFile = join(stage.folder, 'receiver.pem');
  writeFileSync(caFile, identity.certificate);
  const settings = { SALLYPORT_CA_FILE: caFile, SALLYPORT_EGRESS_ALLOW: '127.0.0.1/32', SALLYPORT_LOG_LEVEL: 'warn' };

  const receiver = await story.step('receiver', "A customer's HTTPS receiver with a new certificate", async (tell) => {
    const started = await stage.startReceiver(identity);
    tell.fact('url', started.origin);
    tell.fact('pid', started.pid);
    return started;
  });
  const service = await story.step('service', 'Sallyport with an empty data folder', async (tell) => {
    const started = await stage.startService(settings);
    for (const [name, value] of Object.entries(settings)) tell.line(`${name}=${value}`);
    tell.fact('url', started.url);
    tell.fact('pid', started.pid);
    tell.line(`the first credentials, shown once: administrator ${started.adminUserName}, client ${started.clientId}`);
    return started;
  });
  const admin = await story.step('administrator', 'The administrator gets a token', async (tell) => {
    const token = await requestToken(service.url, service);
    tell.fact('scopes', token.scope.split(' ').length);
    return createApi(service.url, token.access_token);
  });

  const circled = await runCircle({ story, admin, receiver });
  if (allModes) await runModes({ story, admin, receiver, ...circled });

  story.chapter('Stop');
  await story.step('stop', 'SIGTERM stops the service gracefully', async (tell) => {
    tell.fact('exitCode', 0);
    tell.fact('tookMs', await service.stop());
  });
}

/** Null if there is nothing to run: after --help or a usage error. */
function readOptions(): Options | null {
  try {
    const { values } = parseArgs({
      options: {
        json: { type: 'boolean' },
        'all-modes': { type: 'boolean' },
        keep: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    const { json = false, 'all-modes': allModes = false, keep = false } = values;
    if (keep && (json || allModes)) throw new Error('--keep cannot be used with other options');
    if (values.help !== true) return { json, allModes, keep };
    process.stdout.write(USAGE);
  } catch (error) {
    process.stderr.write(`${reasonOf(error)}\n${USAGE}`);
    process.exitCode = 2;
  }
  return null;
}
