/** Sends a request over its own socket with the target unchanged. Client libraries would normalize or refuse it. */
import { connect } from 'node:net';

export type RawAnswer = {
  readonly status: number;
  /** The value of a header, or null if it is missing. */
  header(name: string): string | null;
  readonly text: string;
};

export type RawRequest = {
  readonly method?: string;
  /** `Name: value` lines. */
  readonly headers?: readonly string[];
  readonly body?: string;
};

/** Asks the server to close the connection after its response, and resolves once it is closed. */
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
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    // Envoy waits for the client to close first.
    if (isWhole(Buffer.concat(chunks))) socket.end();
  });
  const closed = new Promise<void>((resolve, reject) => {
    socket.once('close', () => resolve());
    socket.once('error', (error: NodeJS.ErrnoException) => {
      // The server may respond and reset the connection before it has read the whole request.
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') resolve();
      else reject(error);
    });
  });
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  await closed;
  return parseAnswer(Buffer.concat(chunks).toString('latin1'));
}

/** Whether the response has as many bytes as its Content-Length says. Without one, only the end of the connection tells. */
function isWhole(answer: Buffer): boolean {
  const end = answer.indexOf('\r\n\r\n');
  const length = end === -1 ? null : /\r\ncontent-length: *(\d+)/i.exec(answer.toString('latin1', 0, end))?.[1];
  return length != null && answer.length >= end + 4 + Number(length);
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
