/** One request over a socket of its own, its target byte for byte as given: what no client library would send. */
import { connect } from 'node:net';

export type RawAnswer = {
  readonly status: number;
  /** The value of a header; null where it is not there. */
  header(name: string): string | null;
  readonly text: string;
};

export type RawRequest = {
  readonly method?: string;
  /** `Name: value` lines. */
  readonly headers?: readonly string[];
  readonly body?: string;
};

/** Resolves when the server has closed the connection, which it is asked to do after its answer. */
export async function sendRaw(port: number, target: string, request: RawRequest = {}): Promise<RawAnswer> {
  const { method = 'GET', headers = [], body = '' } = request;
  const asked = headers.some((header) => /^connection:/i.test(header));
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: api.example',
    ...headers,
    ...(asked ? [] : ['Connection: close']),
    ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const closed = new Promise<void>((resolve, reject) => {
    socket.once('close', () => resolve());
    socket.once('error', (error: NodeJS.ErrnoException) => {
      // The answer may have come before the server gave up on the rest of the request.
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') resolve();
      else reject(error);
    });
  });
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  await closed;
  return parseAnswer(Buffer.concat(chunks).toString('latin1'));
}

function parseAnswer(answer: string): RawAnswer {
  const end = answer.indexOf('\r\n\r\n');
  const [statusLine = '', ...fields] = answer.slice(0, end).split('\r\n');
  return {
    status: Number(statusLine.split(' ')[1] ?? 0),
    header: (name) => {
      const found = fields.find((field) => field.toLowerCase().startsWith(`${name.toLowerCase()}:`));
      return found === undefined ? null : found.slice(name.length + 1).trim();
    },
    text: answer.slice(end + 4),
  };
}
