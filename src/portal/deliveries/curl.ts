/** The request of an attempt as a `curl` command. Secrets are shell variables, which the reader sets. */

/** `body`: null if it is encrypted, compressed, erased or long: the command then names a file. */
type CurlRequest = {
  readonly url: string;
  /** As stored: each secret is `[secret]`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
};

const MASK = '[secret]';
/** Longer bodies are not put on a command line. */
const BODY_MAX = 8192;

export function curlCommand({ url, headers, body }: CurlRequest): string {
  const isReadable = headers['content-encoding'] === undefined && headers['x-content-encrypted'] === undefined;
  const data = body !== null && isReadable && body.length <= BODY_MAX ? quoted(body) : '@body.json';
  const lines = [
    `curl --request POST ${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) => `--header ${headerText(name, value)}`),
    `--data-binary ${data}`,
  ];
  return lines.join(' \\\n  ');
}

/** `'x-api-key: '"$X_API_KEY"`. */
function headerText(name: string, value: string): string {
  const parts = `${name}: ${value}`.split(MASK);
  const variable = `"$${name.replaceAll(/[^A-Za-z0-9]/g, '_').toUpperCase()}"`;
  return parts.map((part) => (part === '' ? '' : quoted(part))).join(variable);
}

/** As one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
