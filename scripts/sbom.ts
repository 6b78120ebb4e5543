/**
 * `npm run sbom [-- <folder>]` writes the components of the program to dist or the given folder: `sbom.json` in CycloneDX's format, and
 * `licences.txt` with the full text of every licence, to distribute with the binary.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { root } from './build/package.ts';

type License = { readonly id?: string; readonly name?: string; readonly text?: { readonly content: string } };
type Licenses = readonly ({ readonly license: License } | { readonly expression: string })[];
type Component = {
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly licenses?: Licenses;
  readonly evidence?: { readonly licenses?: Licenses };
};

const folder = resolve(process.argv[2] ?? join(root, 'dist'));
const sbom = join(folder, 'sbom.json');

mkdirSync(folder, { recursive: true });
execFileSync(
  process.execPath,
  [
    join(root, 'node_modules', '@cyclonedx', 'cyclonedx-npm', 'bin', 'cyclonedx-npm-cli.js'),
    '--omit',
    'dev',
    '--flatten-components',
    '--gather-license-texts',
    '--output-reproducible',
    '--output-file',
    sbom,
  ],
  // It runs npm, which must find the project's Node.
  { cwd: root, stdio: 'pipe', env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` } },
);
const { components } = JSON.parse(readFileSync(sbom, 'utf8')) as { components: readonly Component[] };
const texts = [
  `sallyport\n\n${readFileSync(join(root, 'LICENSE'), 'utf8')}`,
  ...components.map((component) => `${titleOf(component)}\n\n${textsOf(component).join('\n\n')}`),
];
const LINE = `\n\n${'-'.repeat(80)}\n\n`;
writeFileSync(join(folder, 'licences.txt'), `${texts.map((text) => text.trim()).join(LINE)}\n`);
for (const name of ['sbom.json', 'licences.txt'])
  process.stdout.write(`${relative(process.cwd(), join(folder, name))}\n`);

function titleOf({ group, name, version, licenses = [] }: Component): string {
  const names = licenses.map((entry) =>
    'license' in entry ? (entry.license.id ?? entry.license.name) : entry.expression,
  );
  return `${group === undefined ? '' : `${group}/`}${name} ${version}: ${names.join(', ')}`;
}

function textsOf(component: Component): string[] {
  const found = (component.evidence?.licenses ?? []).flatMap((entry) =>
    'license' in entry && entry.license.text !== undefined
      ? [Buffer.from(entry.license.text.content, 'base64').toString('utf8')]
      : [],
  );
  return found.length > 0 ? found : textsInReadme(component);
}

/** The licence of a package that has no file for it, from the section of its README. */
function textsInReadme({ group, name }: Component): string[] {
  const path = join(root, 'node_modules', group ?? '', name, 'README.md');
  const [, section] = existsSync(path) ? readFileSync(path, 'utf8').split(/^#+ *licen[cs]e.*$/im) : [];
  return section === undefined ? [] : [section.trim()];
}
