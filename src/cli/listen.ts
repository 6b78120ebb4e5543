/** `sallyport listen`: a webhook receiver for development. */
import type { CommandGroup, Invocation } from './command.ts';
import { firstSignal } from './exit.ts';
import { createAnswerer } from './listen/answer.ts';
import { type Arrival, createInspector } from './listen/arrival.ts';
import { defaultFolder, keptIdentity } from './listen/certificate.ts';
import { readPlan, readVerification } from './listen/options.ts';
import { answerText, arrivalJson, arrivalText, inColour, plain } from './listen/report.ts';
import { listen, type Parts } from './listen/server.ts';

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 9443;

export const listenCommands: CommandGroup = [
  {
    name: 'listen',
    summary: 'Receive deliveries in development and show each one',
    explanation: `An HTTPS receiver at every path, with its own self-signed certificate. It answers token challenges, verifies, decrypts and
unzips deliveries, shows each request, and answers 204. It refuses invalid requests and shows the reason; --status, --reset,
--fail-first, --delay and --forward affect valid deliveries only.
With --json, each line is one object: first the address, then each request with its reply.`,
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
      host: { value: '<address>', description: `The address to listen on (default: ${DEFAULT_HOST})` },
      port: {
        value: '<number>',
        integer: true,
        description: `The port; 0 is any free port (default: ${DEFAULT_PORT})`,
      },
      forward: {
        value: '<url>',
        description: 'Post the decoded JSON there, and reply with the status from there',
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
    json: true,
    run: async (invocation) => {
      const signalled = firstSignal();
      const plan = readPlan(invocation);
      const { verification, made } = await readVerification(invocation);
      const host = invocation.text('host') ?? DEFAULT_HOST;
      const folder = invocation.text('certificate-folder') ?? defaultFolder(invocation.terminal.env);
      const identity = keptIdentity(folder, host, Date.now());
      const screen = createScreen(invocation);
      const address = { host, port: invocation.integer('port') ?? DEFAULT_PORT };
      const parts = { inspect: createInspector(verification, Date.now), answer: createAnswerer(plan), ...screen.shows };
      const server = await listen(identity, address, parts);
      const url = `https://localhost:${server.port}/`;
      screen.write(
        invocation.json
          ? `${JSON.stringify({ url, certificateFile: identity.certificateFile, ...made })}\n`
          : beginning(url, identity.certificateFile, made),
      );
      await Promise.race([signalled, screen.unread]);
      await server.close();
      return 0;
    },
  },
];

type Made = Awaited<ReturnType<typeof readVerification>>['made'];

/** The commands that set up the sender. */
function beginning(url: string, certificateFile: string, made: Made): string {
  const secret = made?.secret ?? '<the secret>';
  const apiKey = made === null ? '' : ` --api-key ${made.apiKey}`;
  return `Listening on ${url} and every path below

Start the service with trust in this certificate and permission to send to this machine:
  SALLYPORT_CA_FILE=${certificateFile} SALLYPORT_EGRESS_ALLOW=127.0.0.0/8,::1 sallyport serve
Create the endpoint:
  sallyport endpoint create --name listen --url ${url} --secret ${secret}${apiKey}

`;
}

type Screen = {
  readonly shows: Pick<Parts, 'showArrival' | 'showAnswer'>;
  write(text: string): void;
  /** Resolves when nobody reads the output any more. Rejects if it cannot be written. */
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
