/**
 * `/downloads/{file}`: the npm package of the receiver, complete receivers in other languages, and the API of customers as OpenAPI. Nobody
 * has to sign in, as for the catalogue, which leads here.
 */
import { type Html, html } from '../../http/html.ts';
import { type AssetName, RECEIVER_PACKAGE, readAsset, receiverPackage } from '../../kernel/assets.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { addressFor } from '../frame/browser.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { table } from '../parts/list.ts';
import { icon } from '../parts/mark.ts';

export const DOWNLOADS = '/downloads';
const OPENAPI = 'openapi.json';
export const OPENAPI_DOWNLOAD: string = `${DOWNLOADS}/${OPENAPI}`;

type Program = {
  readonly language: string;
  readonly file: string;
  readonly asset: AssetName;
  /** Commands, one per line. */
  readonly start: string;
};

const PROGRAMS: readonly Program[] = [
  {
    language: 'JavaScript, Node 20 or later, without packages',
    file: 'receiver.mjs',
    asset: 'receivers/node',
    start: 'node receiver.mjs',
  },
  { language: 'Python 3.9 or later', file: 'receiver.py', asset: 'receivers/python', start: 'python3 receiver.py' },
  { language: 'Go 1.18 or later', file: 'receiver.go', asset: 'receivers/go', start: 'go run receiver.go' },
  { language: 'Java 17 or later', file: 'Receiver.java', asset: 'receivers/java', start: 'java Receiver.java' },
  {
    language: 'C#, .NET 5 or later',
    file: 'Receiver.cs',
    asset: 'receivers/csharp',
    start: 'dotnet new console -o receiver\nmv Receiver.cs receiver/Program.cs\ndotnet run --project receiver',
  },
  {
    language: 'PHP 8.1 or later',
    file: 'receiver.php',
    asset: 'receivers/php',
    start: 'php -S 127.0.0.1:3000 receiver.php',
  },
  {
    language: 'Ruby 3.1 or later',
    file: 'receiver.rb',
    asset: 'receivers/ruby',
    start: 'gem install webrick\nruby receiver.rb',
  },
];

export function downloadPages({ pages, customersApi, publicUrl }: SharedPageDependencies): PageRoute<'anyone'>[] {
  return [
    pages.openPage({
      method: 'GET',
      path: `${DOWNLOADS}/{file}`,
      isForCustomers: true,
      respond: async ({ params, request }) => {
        const { file = '' } = params;
        const body = file === OPENAPI ? jsonText(customersApi(addressFor(request, publicUrl()))) : bytesOf(file);
        if (body === null) throw new Refusal('not_found', 'there is no such file');
        const type = TYPES[file] ?? 'text/plain;charset=UTF-8';
        const headers = { 'Content-Type': type, 'Content-Disposition': `attachment; filename="${file}"` };
        return { reply: { status: 200, headers, body } };
      },
    }),
  ];
}

function commands(lines: string): Html {
  return html`${lines.split('\n').map((line) => html`<div><code>${line}</code></div>`)}`;
}

const TYPES: Readonly<Record<string, string>> = {
  [RECEIVER_PACKAGE]: 'application/gzip',
  [OPENAPI]: 'application/json',
};

function jsonText(document: unknown): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

function bytesOf(file: string): Buffer | null {
  if (file === RECEIVER_PACKAGE) return receiverPackage()?.read() ?? null;
  const program = PROGRAMS.find((one) => one.file === file);
  return program === undefined ? null : Buffer.from(readAsset(program.asset));
}

/** The files, and how to start them, those for JavaScript first. A checkout may be without the package. */
export function downloadList(): Html {
  const link = (file: string): Html => html`<a href="${DOWNLOADS}/${file}" download>${icon('download')} ${file}</a>`;
  return html`
    <div class="stack">
      <h3>Downloads</h3>
      ${table({
        caption: 'Downloads',
        columns: [
          { label: 'File', kind: 'main' },
          { label: 'For', phone: 'plain' },
          { label: 'Start', phone: 'plain' },
        ],
        rows: [
          ...(receiverPackage() === null
            ? []
            : [
                [
                  link(RECEIVER_PACKAGE),
                  'TypeScript and JavaScript',
                  commands(`npm install ./${RECEIVER_PACKAGE}\nnode app.mts`),
                ],
              ]),
          ...PROGRAMS.map(({ language, file, start }) => [link(file), language, commands(start)]),
        ],
      })}
      ${
        receiverPackage() === null
          ? null
          : html`
            <p class="hint">
              With the package, save the code for TypeScript as <code>app.mts</code> (Node 22.18 or later), or the one for
              JavaScript as <code>app.mjs</code>, in the folder where you install it.
            </p>
          `
      }
      <p class="hint">
        Each program verifies, responds to challenges, decrypts and decompresses. It reads the secret and the
        API key from its environment; during a rotation both, one per line:
        <code>WEBHOOK_SECRETS='…' WEBHOOK_API_KEYS='…' python3 receiver.py</code>. Write what it
        does with an event into its function <code>handle</code>.
      </p>
    </div>
  `;
}
