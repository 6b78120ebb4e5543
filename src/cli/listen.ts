/** `sallyport listen`: a receiver for development. */
import type { CommandGroup, Invocation } from './command.ts';
import { createAnswerer } from './listen/answer.ts';
import { type Arrival, createInspector } from './listen/arrival.ts';
import { defaultFolder, keptIdentity } from './listen/certificate.ts';
import { readPlan, readVerification } from './listen/options.ts';
import { answerText, arrivalJson, arrivalText, inColour, plain } from './listen/report.ts';
import { listen, type Parts } from './listen/server.ts';
import { firstSignal } from './signal.ts';

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 9443;

export const listenCommands: CommandGroup = [
  {
    name: 'listen',
    summary: 'Receive deliveries in development and show each one',
    explanation: `A receiver on HTTPS, at every path, with a certificate that it makes and keeps. It answers token challenges, verifies,
decrypts and unzips deliveries, shows each request, and answers 204. What is not in order is refused with the reason;
--status, --reset, --fail-first, --delay and --forward are about deliveries that are.
With --json one object a line: first where it listens, then each request with its answer.`,
    options: {
      secret: { value: '<text|@file|->', many: true, description: "The endpoint's secret; made if absent" },
      'api-key': {
        value: '<text>',
        many: true,
        description: 'What x-api-key has to be; made if there is no secret either',
      },
      'pgp-key': { value: '<file>', description: 'The armored private key for deliveries that are encrypted' },
      'pgp-passphrase': { value: '<text|@file|->', description: 'What opens the private key' },
      'pgp-allow-unprotected': {
        description: 'Take PGP messages without integrity protection too, with a warning',
      },
      host: { value: '<address>', description: `The address to listen on (${DEFAULT_HOST})` },
      port: { value: '<number>', integer: true, description: `The port; 0 takes any free one (${DEFAULT_PORT})` },
      forward: {
        value: '<url>',
        description: 'Post the decoded JSON there, and answer with the status of what is there',
      },
      status: { value: '<number>', integer: true, description: 'Answer deliveries with this' },
      reset: { description: 'Reset the connection instead of answering deliveries' },
      'fail-first': {
        value: '<number>',
        integer: true,
        description: 'Do so with so many only (--status 500 if absent)',
      },
      delay: { value: '<ms>', integer: true, description: 'Answer deliveries so much later' },
      'certificate-folder': { value: '<folder>', description: 'Where the certificate is kept (in ~/.local/state)' },
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

/** What the sender has to be told, as commands. */
function beginning(url: string, certificateFile: string, made: Made): string {
  const secret = made?.secret ?? '<the secret>';
  const apiKey = made === null ? '' : ` --api-key ${made.apiKey}`;
  return `Listening on ${url} and every path below

Start the service so that it trusts this certificate and may send to this machine:
  SALLYPORT_CA_FILE=${certificateFile} SALLYPORT_EGRESS_ALLOW=127.0.0.0/8,::1 sallyport serve
Tell it of the endpoint:
  sallyport endpoint create --name listen --url ${url} --secret ${secret}${apiKey}

`;
}

type Screen = {
  readonly shows: Pick<Parts, 'showArrival' | 'showAnswer'>;
  write(text: string): void;
  /** Resolves when nobody reads what is shown any more; rejects where it cannot be written. */
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
    // For programs it is one object with the answer.
    if (!json) write(arrivalText(arrival, paint));
  };
  const showAnswer: Parts['showAnswer'] = (arrival, answered) =>
    write(json ? arrivalJson(arrival, answered) : answerText(arrival, answered, paint));
  return { shows: { showArrival, showAnswer }, write, unread };
}
