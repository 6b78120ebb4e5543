/** Compares README.md and docs/ with the code: links, files, settings, commands and tables. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, it, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { GROUPS } from '../src/cli/groups.ts';
import { SETTINGS } from '../src/config/names.ts';
import { PROBE_FIRST_MS, PROBE_MAX_MS, PROBES_UNPACED } from '../src/domain/judge.ts';
import { ATTEMPTS_DEFAULT } from '../src/domain/limits.ts';
import { adviceFor, type ErrorClass } from '../src/domain/outcome.ts';
import { nextDelayMs } from '../src/domain/retry.ts';
import { STATE_REASONS } from '../src/domain/webhook-states.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const pagesIn = (folder: string): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
const howTos = pagesIn('docs/how-to');
const names = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...pagesIn('docs'), ...howTos];
/** Pages beside code, with an index of their own. */
const others = ['docs/decisions', 'docs/examples', 'docs/receivers', 'docs/reference'].flatMap(pagesIn);
const pages = new Map([...names, ...others].map((name) => [name, read(name)]));
const readme = page('README.md');

for (const [name, text] of pages) {
  describe(name, () => {
    it('links to files and headings that exist', () => {
      for (const target of linksOf(text)) {
        const [path = '', anchor] = target.split('#', 2);
        const file = path === '' ? name : relative(root, join(root, dirname(name), path));
        assert.ok(existsSync(join(root, file)), `${target}: ${file} does not exist`);
        if (anchor !== undefined) assert.ok(anchorsOf(read(file)).has(anchor), `${file} has no heading #${anchor}`);
      }
    });

    it('names files that exist', () => {
      for (const [path] of text.matchAll(/\b(?:src|test|scripts|docs)\/[\w./-]*\w/g)) {
        assert.ok(existsSync(join(root, path)), `there is no ${path}`);
      }
    });

    it('names settings that exist', () => {
      const variables = Object.values(SETTINGS).map(({ variable }) => variable);
      for (const [variable] of text.matchAll(/\bSALLYPORT_[A-Z][A-Z_]*[A-Z]/g)) {
        assert.ok(variables.includes(variable), `there is no ${variable}`);
      }
    });

    it('has commands that exist, with their options', async () => {
      for (const line of commandsOf(text)) await checkCommand(line);
    });
  });
}

describe('delivery-reference.md', () => {
  const text = page('docs/delivery-reference.md');

  it('lists exactly the error classes with their advice', () => {
    const [, union = ''] = /export type ErrorClass =([^;]*);/.exec(read('src/domain/outcome.ts')) ?? [];
    const classes = [...union.matchAll(/'(\w+)'/g)].map(([, errorClass = '']) => errorClass as ErrorClass);
    const expected = classes.map((errorClass) => [`\`${errorClass}\``, adviceFor(errorClass)]);
    assert.deepEqual(tableOf(text, 'class'), expected);
  });

  it('lists exactly the reasons why a webhook does not send', () => {
    const expected = Object.entries(STATE_REASONS).map(([reason, sentence]) => [`\`${reason}\``, sentence]);
    assert.deepEqual(tableOf(text, 'reason'), expected);
  });

  it('has the retry schedule', () => {
    const rows = tableOf(text, 'after attempt');
    assert.equal(rows.length, 15);
    for (const [index, [, ...figures]] of rows.entries()) {
      const wait = (random: number): string =>
        `${nextDelayMs({ policy: 'exponential', attemptNumber: index + 1, random: () => random }) / 1000} s`;
      assert.deepEqual(figures, [wait(0), wait(1)], `after attempt ${index + 1}`);
    }
    assert.equal(nextDelayMs({ policy: 'exponential', attemptNumber: 99, random: () => 1 }), 43_200_000);
  });

  it('has the pauses while an endpoint fails', () => {
    const pauses = [PROBE_FIRST_MS, PROBE_FIRST_MS * 2, PROBE_FIRST_MS * 4].map((ms) => `${ms / 1000} s`);
    const said = text.replaceAll(/\s+/g, ' ');
    assert.ok(said.includes(`each of the first ${PROBES_UNPACED} failures in a row`));
    assert.ok(said.includes(`${pauses.join(', ')} and so on up to ${PROBE_MAX_MS / 1000} s`));
  });
});

test('egress.md lists every blocked address range', () => {
  const source = read('src/outbound/address-ranges.ts');
  const expected = [...source.matchAll(/^ {2}'([\da-f.:]+\/\d+)': '([^']+)',$/gm)].map(
    ([, range, kind]) => `${range} ${kind}`,
  );
  const rows = tableOf(page('docs/egress.md'), 'range');
  const said = rows.flatMap(([ranges = '', kind]) =>
    ranges.split(', ').map((range) => `${range.slice(1, -1)} ${kind}`),
  );
  assert.ok(expected.length > 30);
  assert.deepEqual(said.sort(), expected.sort());
});

test('the contract and its page say how long twenty attempts take', () => {
  let minutes = 0;
  for (let attemptNumber = 1; attemptNumber < ATTEMPTS_DEFAULT; attemptNumber += 1)
    minutes += nextDelayMs({ policy: 'exponential', attemptNumber, random: () => 1 }) / 60_000;
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60)];
  const told = `at most ${days} days, ${hours} hours and ${Math.floor(minutes % 60)} minutes`;
  for (const name of ['docs/contract.md', 'docs/how-to/retries-and-failures.md'])
    assert.ok(page(name).replaceAll(/\s+/g, ' ').includes(told), `${name}: ${told}`);
});

test('pages quote labels that the portal has', () => {
  const sources = readdirSync(join(root, 'src/portal'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(`src/portal/${name}`))
    .join('\n');
  for (const name of ['docs/concepts.md', 'docs/portal.md', 'docs/tutorial-portal.md', ...howTos]) {
    const labels = [...withoutCode(page(name)).matchAll(/(?<!\*)\*([A-Z][^*]+)\*(?!\*)/g)];
    for (const [, label = ''] of labels) {
      assert.ok(sources.includes(label.replaceAll(/\s+/g, ' ')), `${name}: the portal has no ${label}`);
    }
  }
});

test('compare.md quotes figures of benchmarks.md', () => {
  const benchmarks = page('docs/benchmarks.md');
  const text = page('docs/compare.md');
  const figures = tableOf(text, 'measured').flatMap((row) => row.join(' ').match(/[\d,.]+(?:\/s| MB| ms)/g) ?? []);
  assert.ok(figures.length >= 10);
  const beside = tableOf(text, 'operation').flatMap((row) => row.slice(1));
  assert.ok(beside.length >= 14);
  for (const figure of [...figures, ...beside])
    assert.ok(benchmarks.includes(figure), `${figure} is not in benchmarks.md`);
  const [, met, goals] = /^(\d+) of (\d+) are met\.$/m.exec(benchmarks) ?? [];
  assert.ok(text.includes(`misses ${Number(goals) - Number(met)} of the ${goals} goals`));
});

test('configuration.md lists every setting', () => {
  const rows = tableOf(page('docs/configuration.md'), 'variable');
  const variables = Object.values(SETTINGS).map(({ variable }) => `\`${variable}\``);
  assert.deepEqual(rows.map(([name]) => name).sort(), variables.sort());
  for (const row of rows) assert.equal(row.length, 4, row.join(' | '));
});

test('a how-to page has at most 150 lines, and says what to check and where to go next', () => {
  for (const name of howTos) {
    const lines = page(name).trimEnd().split('\n');
    assert.ok(lines.length <= 150, `${name} has ${lines.length} lines`);
    for (const heading of ['## What to check', '## Where next'])
      assert.ok(lines.includes(heading), `${name}: ${heading}`);
  }
});

test('the index links every page of docs/', () => {
  const listed = new Set(linksOf(page('docs/README.md')));
  const missing = names.filter((name) => name.startsWith('docs/') && !listed.has(name.slice('docs/'.length)));
  assert.deepEqual(missing, ['docs/README.md']);
  assert.ok(linksOf(readme).includes('docs/README.md'));
});

test('.node-version is the Node of the packages, and the pages for a first start say which Node is needed', () => {
  const { optionalDependencies, engines } = JSON.parse(read('package.json'));
  const versions = Object.entries<string>(optionalDependencies).filter(([name]) => name.startsWith('node-'));
  assert.ok(versions.length > 0);
  for (const [, version] of versions) assert.equal(version, read('.node-version').trim());
  const [major] = read('.node-version').split('.');
  for (const name of ['README.md', 'CONTRIBUTING.md', 'docs/start.md', 'docs/tutorial-portal.md']) {
    const said = page(name).replaceAll(/\s+/g, ' ');
    assert.ok(said.includes(`which installs Node ${major} into \`node_modules\``), name);
    assert.ok(said.includes(`you need Node ${engines.node.slice(2)} or later`), name);
  }
});

test('README.md has at most 90 lines', () => {
  assert.ok(readme.split('\n').length <= 90);
});

describe('architecture.md', () => {
  const text = page('docs/architecture.md');

  it('lists exactly the rooms and files at the top of src/', () => {
    const entries = readdirSync(join(root, 'src')).map((entry) =>
      statSync(join(root, 'src', entry)).isDirectory() ? `${entry}/` : entry,
    );
    const rows = [...tableOf(text, 'room'), ...tableOf(text, 'file at the top')];
    const listed = rows.map(([name = '']) => name.slice(1, -1)).filter((name) => !/^store\/./.test(name));
    assert.deepEqual(listed.sort(), entries.sort());
  });

  it('names files that exist in its table of subjects', () => {
    for (const [, where = ''] of tableOf(text, 'subject')) {
      for (const [, path = ''] of where.matchAll(/`([^`]+)`/g)) assert.ok(existsSync(join(root, 'src', path)), path);
    }
  });
});

function read(name: string): string {
  return readFileSync(join(root, name), 'utf8');
}

function page(name: string): string {
  const text = pages.get(name);
  assert.ok(text !== undefined, `there is no ${name}`);
  return text;
}

/** Relative links outside of code. */
function linksOf(text: string): string[] {
  const targets = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

/** The anchors of headings: lower case, without punctuation, with dashes for spaces. */
function anchorsOf(text: string): Set<string> {
  const headings = [...withoutBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function withoutBlocks(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, '');
}

function withoutCode(text: string): string {
  return withoutBlocks(text).replaceAll(/`[^`\n]*`/g, '');
}

/** The cells of the table with this first heading, by row. */
function tableOf(text: string, heading: string): string[][] {
  const [, body = ''] = new RegExp(`^\\| ${heading} \\|.*\\n\\|[-|]+\\n((?:\\|.*\\n)+)`, 'm').exec(text) ?? [];
  assert.notEqual(body, '', `there is no table of ${heading}`);
  return body
    .trimEnd()
    .split('\n')
    .map((row) => row.slice(2, -2).split(' | '));
}

/** The words after `sallyport` in commands, in blocks and in text. */
function commandsOf(text: string): string[] {
  const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
  const spans = [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
  const lines = [...blocks, ...spans].flatMap((code) => code.replaceAll(/ \\\n\s*/g, ' ').split('\n'));
  return lines.flatMap((line) => {
    const [, command] = /(?:^|[|;] |\$ |-- |npx |\/bin\/)sallyport ([a-z].*)$/.exec(line) ?? [];
    return command === undefined ? [] : [command];
  });
}

async function checkCommand(line: string): Promise<void> {
  // Without quoted text, and without comments and redirections.
  const words = (line.replaceAll(/'[^']*'|"[^"]*"/g, 'quoted').split(/ +[#>|;]| 2>/)[0] ?? '').split(/ +/);
  const group = GROUPS.find(({ name }) => name === words[0]);
  assert.ok(group, `sallyport ${line}: there is no command ${words[0]}`);
  const commands = await group.load();
  const command =
    commands.find(({ name }) => name === words.slice(0, 2).join(' ')) ?? commands.find(({ name }) => name === words[0]);
  if (command === undefined && words.length === 1) return;
  assert.ok(command, `sallyport ${line}: ${group.name} has no ${words[1]}`);
  const settings = (command.settings ?? []).map((name) => SETTINGS[name].flag);
  const known = new Set([
    ...Object.keys(command.options ?? {}),
    ...settings,
    'help',
    ...(command.json ? ['json'] : []),
  ]);
  for (const word of words.filter((word) => word.startsWith('--'))) {
    assert.ok(known.has(word.slice(2).split('=')[0] ?? ''), `sallyport ${line}: ${command.name} has no ${word}`);
  }
}
