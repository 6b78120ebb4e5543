/** `/downloads/{file}`: the npm package of the receiver, and complete receivers in other languages. */
import { type Html, html } from '../../http/html.ts';
import { type AssetName, RECEIVER_PACKAGE, readAsset, receiverPackage } from '../../kernel/assets.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';

const PATH = '/downloads';

type Program = { readonly language: string; readonly file: string; readonly asset: AssetName };

const PROGRAMS: readonly Program[] = [
  { language: 'Python', file: 'receiver.py', asset: 'receivers/python' },
  { language: 'Go', file: 'receiver.go', asset: 'receivers/go' },
  { language: 'Java', file: 'Receiver.java', asset: 'receivers/java' },
  { language: 'C#', file: 'Receiver.cs', asset: 'receivers/csharp' },
  { language: 'PHP', file: 'receiver.php', asset: 'receivers/php' },
  { language: 'Ruby', file: 'receiver.rb', asset: 'receivers/ruby' },
];

export function downloadPages({ pages }: SharedPageDependencies): PageRoute<'both'>[] {
  return [
    pages.view(`${PATH}/{file}`, 'both', async ({ params }) => {
      const { file = '' } = params;
      const body = bytesOf(file);
      if (body === null) throw new Refusal('not_found', 'there is no such file');
      const type = file === RECEIVER_PACKAGE ? 'application/gzip' : 'text/plain;charset=UTF-8';
      const headers = { 'Content-Type': type, 'Content-Disposition': `attachment; filename="${file}"` };
      return { reply: { status: 200, headers, body } };
    }),
  ];
}

function bytesOf(file: string): Buffer | null {
  if (file === RECEIVER_PACKAGE) return receiverPackage()?.read() ?? null;
  const program = PROGRAMS.find((one) => one.file === file);
  return program === undefined ? null : Buffer.from(readAsset(program.asset));
}

/** The files with their languages. A checkout may be without the package. */
export function downloadList(): Html {
  const programs = PROGRAMS.map(
    ({ language, file }) => html`<li><a href="${PATH}/${file}" download>${file}</a> ${language}</li>`,
  );
  const packageLine =
    receiverPackage() === null
      ? null
      : html`
        <li><a href="${PATH}/${RECEIVER_PACKAGE}" download>${RECEIVER_PACKAGE}</a> TypeScript and JavaScript, for npm</li>
      `;
  return html`<ul class="downloads">${packageLine}${programs}</ul>`;
}
