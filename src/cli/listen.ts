/** `sallyport listen`: a webhook receiver for development. */
import { randomBytes } from 'node:crypto';
import type { CommandGroup, Invocation } from './command.ts';
import { UsageError } from './errors.ts';
import { createAnswerer } from './listen/answer.ts';
import { type Arrival, createInspector } from './listen/arrival.ts';
import { defaultFolder, keptIdentity } from './listen/certificate.ts';
import { type ListenVerification, readPlan, readVerification } from './listen/options.ts';
import type { Registration } from './listen/register.ts';
import { answerText, arrivalJson, arrivalText, inColour, plain } from './listen/report.ts';
import { listen, type Parts } from './listen/server.ts';
import { DATA_SETTINGS } from './open.ts';
import { dataOption } from './text/program-name.ts';

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 9443;

export const listenCommands: CommandGroup = [
  {
    name: 'listen',
    summary: 'Receive deliveries in development and show each one',
    examples: [
      'sallyport listen --register --event order.created',
      'sallyport listen --secret @secret.txt --forward http://localhost:3000/webhooks',
    ],
    explanation: `An HTTPS receiver at every path, with its own self-signed certificate. It answers token challenges and the handshake of
CloudEvents, verifies, decrypts and unzips deliveries in every format, shows each request, and answers 204. It refuses invalid
requests and shows the reason; --status, --reset, --fail-first, --delay and --forward affect valid deliveries only.
With --register, no other set-up is needed: the running server trusts the certificate while this command runs, and the webhook is
stopped at its end. With --json, each line is one object: first the address, then each request with its reply.`,
    options: {
      secret: { value: '<text|@file|->', many: true, description: 'The secret of the endpoint (default: a new one)' },
      'api-key': {
        value: '<text>',
        many: true,
        description: 'The required x-api-key (default: a new one, if --secret is absent too)',
      },
      'pgp-key': { value: '<file>', description: 'The armored private key for encrypted deliveries' },
      'pgp-passphrase': { value: '<text|@file|->', description: 'The passphrase of the private key' },
      'pgp-allow-unprotected': {
        description: 'Accept PGP messages without integrity protection, with a warning',
      },
      'public-key': {
        value: '<whpk_…>',
        many: true,
        description: 'The public key of an endpoint that signs with Ed25519; during a rotation, both',
      },
      signature: {
        value: '<json|@file|->',
        description: 'The signature template of the webhook; those of the presets are known',
      },
      basic: { value: '<user:password|@file|->', description: 'For an endpoint with Basic authentication' },
      bearer: { value: '<token|@file|->', description: 'For an endpoint that sends this bearer token' },
      register: { description: 'Register with the server of the data folder: create and start a webhook to here' },
      event: {
        value: '<type>',
        many: true,
        description: 'With --register: an event type, which is created if missing, <category>.* or *',
      },
      host: { value: '<address>', description: `The address to listen on (default: ${DEFAULT_HOST})` },
      port: {
        value: '<number>',
        integer: true,
        description: `The port; 0 is any free port (default: ${DEFAULT_PORT})`,
      },
      forward: {
        value: '<url>',
        description: 'Post the decoded body there, and reply with the status from there',
      },
      status: { value: '<number>', integer: true, description: 'Answer deliveries with this status' },
      reset: { description: 'Reset the connection instead of answering deliveries' },
      'fail-first': {
        value: '<number>',
        integer: true,
        description: 'Fail only this many deliveries (with --status 500 by default)',
      },
      delay: { value: '<ms>', integer: true, description: 'Answer deliveries after this delay' },
      'certificate-folder': {
        value: '<folder>',
        description: 'Where to store the certificate (default: in ~/.local/state)',
      },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const plan = readPlan(invocation);
      const patterns = readPatterns(invocation);
      const { verification, made } = await readVerification(invocation);
      // Nothing was stored or opened yet, so an earlier signal may end the process.
      const signalled = invocation.terminal.firstSignal();
      const host = invocation.text('host') ?? DEFAULT_HOST;
      const folder = invocation.text('certificate-folder') ?? defaultFolder(invocation.terminal.env);
      const identity = keptIdentity(folder, host, Date.now());
      const screen = createScreen(invocation);
      const address = { host, port: invocation.integer('port') ?? DEFAULT_PORT };
      const parts = { inspect: createInspector(verification, Date.now), answer: createAnswerer(plan), ...screen.shows };
      const server = await listen(identity, address, parts);
      const { certificate, certificateFile } = identity;
      const at = { url: `https://localhost:${server.port}/`, certificateFile };
      let registration: Registration | null = null;
      try {
        if (patterns !== null) {
          const { register } = await import('./listen/register.ts');
          const receiving = { ...at, port: server.port, certificate, patterns, ...credentialsOf(verification) };
          registration = await register(invocation, receiving);
        }
        const call: Call = await callOf(invocation);
        const text =
          registration === null ? unregisteredText(at, made, call) : registeredText(registration, patterns ?? [], call);
        screen.write(
          invocation.json
            ? firstLine(at, made, registration)
            : `Listening on ${at.url} and every path below\n\n${text}`,
        );
        await Promise.race([signalled, screen.unread]);
      } finally {
        await registration?.end();
        await server.close();
      }
      return 0;
    },
  },
];

/** The patterns of --event; null without --register. */
function readPatterns({ command, given, texts }: Invocation): readonly string[] | null {
  const patterns = texts('event');
  if (given('register') === patterns.length > 0) return given('register') ? patterns : null;
  throw new UsageError(given('register') ? '--register requires --event' : '--event requires --register', command.name);
}

/** The first secret and API key that the receiver accepts. */
function credentialsOf({ secrets, apiKey }: ListenVerification['verification']): { secret: string; apiKey: string } {
  const [first] = [apiKey ?? []].flat();
  return { secret: secrets[0] ?? '', apiKey: first ?? randomBytes(16).toString('hex') };
}

type Made = Awaited<ReturnType<typeof readVerification>>['made'];

type Address = { readonly url: string; readonly certificateFile: string };

function firstLine(at: Address, made: Made, registration: Registration | null): string {
  const { endpointId, webhookId } = registration ?? {};
  return `${JSON.stringify({ ...at, ...made, endpointId, webhookId })}\n`;
}

/** How another shell in this folder calls the program, and the option that leads it to the same data. */
type Call = { readonly program: string; readonly data: string };

async function callOf({ terminal, config }: Invocation): Promise<Call> {
  return { program: terminal.program(), data: dataOption(await config(), process.cwd()) };
}

/** Without --register: the commands that set up the sender. */
function unregisteredText({ url, certificateFile }: Address, made: Made, { program, data }: Call): string {
  const secret = made?.secret ?? '<the secret>';
  const apiKey = made === null ? '' : ` --api-key ${made.apiKey}`;
  return `Register this receiver with the server of the data folder, in one step:
  ${program} listen --register --event order.created${data}

Or start the service with trust in this certificate and permission to send to this machine:
  SALLYPORT_CA_FILE=${certificateFile} SALLYPORT_EGRESS_ALLOW=127.0.0.0/8,::1 ${program} serve${data}
and create the endpoint:
  ${program} endpoint create --name listen --url ${url} --secret ${secret}${apiKey}${data}

`;
}

/** Tells the next step: publish an event. */
function registeredText(
  { created, isServed }: Registration,
  patterns: readonly string[],
  { program, data }: Call,
): string {
  const types = created.length === 0 ? '' : `Created the event type ${created.join(', ')}.\n`;
  const server = isServed
    ? ''
    : `No server uses this data folder yet. Start one in another terminal: ${program} serve${data}\n`;
  const example = patterns.find((pattern) => !pattern.endsWith('*')) ?? '<event type>';
  return `${types}The webhook "listen" sends ${patterns.join(', ')} here until you press Ctrl-C; later events wait.
${server}
Publish an event in another terminal:
  ${program} event publish ${example} '{"orderId": 42}'${data}

`;
}

type Screen = {
  readonly shows: Pick<Parts, 'showArrival' | 'showAnswer'>;
  write(text: string): void;
  /** Resolves when the reader of the output has gone. Rejects if it cannot be written. */
  readonly unread: Promise<void>;
};

function createScreen({ terminal, json }: Invocation): Screen {
  const paint = terminal.isInteractive && !terminal.env.NO_COLOR ? inColour : plain;
  let end: () => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const unread = new Promise<void>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  const write = (text: string): void => {
    terminal.out(text).then((isRead) => isRead || end(), fail);
  };
  const showArrival = (arrival: Arrival): void => {
    // Programs get one object with the reply.
    if (!json) write(arrivalText(arrival, paint));
  };
  const showAnswer: Parts['showAnswer'] = (arrival, answered) =>
    write(json ? arrivalJson(arrival, answered) : answerText(arrival, answered, paint));
  return { shows: { showArrival, showAnswer }, write, unread };
}
