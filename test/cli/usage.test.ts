import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { allOptions, type Command, parseInvocation } from '../../src/cli/command.ts';
import { GROUPS } from '../../src/cli/groups.ts';
import { run } from '../../src/cli/run.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { VERSION } from '../../src/kernel/version.ts';
import { type CommandResult, sallyport, terminalHere } from '../support/command.ts';
import { initialised } from '../support/command-folder.ts';

const TERMINAL: Terminal = {
  ...terminalHere(),
  env: { SALLYPORT_DATA: '/nowhere' },
  read: async () => assert.fail('read standard input'),
};

/** Runs in this process, for errors before a command begins. */
async function here(...words: readonly string[]): Promise<CommandResult> {
  let stdout = '';
  let stderr = '';
  const status = await run(words, {
    ...TERMINAL,
    out: async (text) => {
      stdout += text;
      return true;
    },
    err: async (text) => {
      stderr += text;
      return true;
    },
  });
  return { status, stdout, stderr };
}

async function everyCommand(): Promise<Command[]> {
  return (await Promise.all(GROUPS.map(({ load }) => load()))).flat();
}

/** The second words of the commands of a group, as in messages. */
async function verbsOf(group: string): Promise<string> {
  const names = (await everyCommand()).map(({ name }) => name.split(' '));
  return names
    .filter(([first]) => first === group)
    .map(([, verb]) => verb)
    .join(', ');
}

const ALSO_REQUIRED: Readonly<Record<string, readonly string[]>> = {
  'key update': ['--name', 'x'],
  'product update': ['--name', 'x'],
  'webhook create': ['--endpoint', 'x'],
};

/** A complete command line for a command. */
function complete({ name, operands = [], options = {} }: Command): string[] {
  const required = Object.entries(options).filter(([, option]) => option.required === true);
  // They require one of their options, whichever it is, or one that depends on another.
  const any = ALSO_REQUIRED[name] ?? [];
  return [
    ...name.split(' '),
    ...operands.map(() => 'x'),
    ...required.flatMap(([option, { integer }]) => [`--${option}`, integer === true ? '1' : 'x']),
    ...any,
  ];
}

test('help lists exactly the commands', async () => {
  const { status, stdout, stderr } = await here('--help');
  assert.deepEqual([status, stderr], [0, '']);
  const listed = [...stdout.matchAll(/^ {2}(\S+) {2,}\S/gm)].map(([, name]) => name);
  assert.deepEqual(
    listed,
    GROUPS.map(({ name }) => name),
  );
  assert.deepEqual(await here('help'), { status, stdout, stderr });
  assert.deepEqual(await here('-h'), { status, stdout, stderr });
});

test('every command is in the group of its first word, and shows help in three ways', async () => {
  for (const { name, summary, load } of GROUPS) {
    const commands = await load();
    const group = await here(name, '--help');
    assert.equal(group.status, 0);
    assert.match(group.stdout, new RegExp(`^${summary}\\.\n`));
    for (const command of commands) {
      const words = command.name.split(' ');
      assert.equal(words[0], name);
      const { status, stdout, stderr } = await here(...words, '--help');
      assert.deepEqual([status, stderr], [0, '']);
      assert(stdout.startsWith(`${command.summary}.\n\nUsage: sallyport ${command.name}`), stdout);
      for (const option of Object.keys(allOptions(command)))
        assert(stdout.includes(`  --${option}`), `${command.name} ${option}`);
      assert.equal((await here('help', ...words)).stdout, stdout);
      assert.equal((await here(...words, '-h')).stdout, stdout);
      if (command.name !== name) assert(group.stdout.includes(`  ${command.name} `), command.name);
    }
  }
});

test('help fits 100 columns but for examples and usage', async () => {
  for (const command of await everyCommand()) {
    const { stdout } = await here(...command.name.split(' '), '--help');
    const [described = ''] = stdout.split(/^Examples?:$/m);
    const wide = described.split('\n').filter((line) => line.length > 100 && !line.startsWith('Usage:'));
    assert.deepEqual(wide, [], command.name);
  }
});

test('without words, the commands are listed', async () => {
  const { status, stdout, stderr } = await here();
  assert.deepEqual([status, stdout], [2, '']);
  assert.equal(stderr, (await here('--help')).stdout);
});

/** The words of command lines, as a shell reads them. */
function wordsOf(lines: readonly string[]): string[][] {
  const script = lines.map((line) => `set -- ${line}; printf '%s\\0' "$@"; printf '\\n'`).join('\n');
  const output = execFileSync('sh', ['-c', script], { encoding: 'utf8' });
  return output
    .split('\0\n')
    .slice(0, -1)
    .map((words) => words.split('\0'));
}

test('help of every command has examples, which are complete command lines', async () => {
  const commands = await everyCommand();
  const read = wordsOf(commands.flatMap(({ examples }) => examples.map((one) => one.replace(/ > .*$/, ''))));
  for (const command of commands) {
    const { stdout } = await here(...command.name.split(' '), '--help');
    assert.ok(command.examples.length > 0, command.name);
    for (const example of command.examples) {
      assert.ok(stdout.includes(`\n  ${example}\n`), example);
      const [program, ...words] = read.shift() ?? [];
      const name = words.splice(0, command.name.split(' ').length).join(' ');
      assert.deepEqual([program, name], ['sallyport', command.name]);
      assert.notEqual(parseInvocation(command, words, TERMINAL), null, example);
    }
  }
});

test('help of serve names every setting with its variable', async () => {
  const { stdout } = await here('serve', '--help');
  for (const name of ['data', 'host', 'port', 'egress-allow', 'trusted-proxies', 'log-level']) {
    const line = new RegExp(`^ {2}--${name} <[^[]*\\[SALLYPORT_${name.toUpperCase().replaceAll('-', '_')}\\]$`, 'm');
    assert.match(stdout, line);
  }
});

test('wrong usage ends with 2, an explanation, and a pointer to help', async () => {
  const wrong: readonly [words: readonly string[], problem: string, topic: string][] = [
    [['aplication'], 'Unknown command "aplication". Did you mean "application"?', ''],
    [['help', 'aplication'], 'Unknown command "aplication". Did you mean "application"?', ''],
    [['--port', '80'], 'Unknown command "--port"', ''],
    [['--versoin'], 'Unknown command "--versoin". Did you mean "--version"?', ''],
    [['webhook'], `Missing command. Use one of: ${await verbsOf('webhook')}`, ' webhook'],
    [['user', 'praise'], `Unknown command "praise". Use one of: ${await verbsOf('user')}`, ' user'],
    [['user', 'remove'], 'Unknown command "remove". Did you mean "delete"?', ' user'],
    [['webhook', 'strat'], 'Unknown command "strat". Did you mean "start"?', ' webhook'],
    [['user', 'list', '--limit', 'ten'], '--limit must be a whole number', ' user list'],
    [['application', 'create', '--name'], '--name needs a value', ' application create'],
    [
      ['webhook', 'create', '--endpoint', '--event', 'order.placed'],
      '--endpoint needs a value. Write a value that starts with a dash as --endpoint=<value>',
      ' webhook create',
    ],
    [['serve', '--port=1', '--tlskey'], 'Unknown option --tlskey. Did you mean "--tls-key-file"?', ' serve'],
    [
      ['user', 'create', '--user-name', 'jane', '--role', 'admni'],
      '--role must be one of administrator, operator, viewer, service. Did you mean "administrator"?',
      ' user create',
    ],
    [['completion', 'bahs'], '<shell> must be one of bash, zsh, fish. Did you mean "bash"?', ' completion'],
    [['user', 'list', '--json=yes'], "Option '--json' does not take an argument", ' user list'],
    [
      ['deliveries', 'list', '--state', 'lost'],
      '--state must be one of pending, delivered, dead, discarded',
      ' deliveries list',
    ],
    [
      ['deliveries', 'list', '--since', '2026-11-21'],
      '--since must be an instant, as 2026-11-21T05:00:00.000Z',
      ' deliveries list',
    ],
    [
      ['deliveries', 'list', '--until', '2026-13-21T05:00Z'],
      '--until must be an instant, as 2026-11-21T05:00:00.000Z',
      ' deliveries list',
    ],
    [
      ['deliveries', 'list', '--since', '2026-11-21T05:00Z', '--until', '2026-11-21T05:00Z'],
      '--until must be later than --since',
      ' deliveries list',
    ],
  ];
  for (const [words, problem, topic] of wrong) {
    assert.deepEqual(await here(...words), {
      status: 2,
      stdout: '',
      stderr: `sallyport${topic}: ${problem}\nSee: sallyport${topic} --help\n`,
    });
  }
});

test('every command refuses unknown options, extra operands, and missing required ones', async () => {
  for (const command of await everyCommand()) {
    const { name, operands = [], options = {} } = command;
    const words = complete(command);
    const hint = `\nSee: sallyport ${name} --help\n`;
    const expect = async (given: readonly string[], problem: string): Promise<void> => {
      const { status, stdout, stderr } = await here(...given);
      assert.deepEqual([status, stdout, stderr], [2, '', `sallyport ${name}: ${problem}${hint}`]);
    };
    await expect([...words, '--zzzzzzzz'], 'Unknown option --zzzzzzzz');
    await expect([...words, 'another'], 'Unexpected argument "another"');
    const [operand] = operands;
    if (operand !== undefined)
      await expect(
        words.filter((word, at) => word !== 'x' || words[at - 1]?.startsWith('--')),
        `Missing argument <${operand.name}>`,
      );
    for (const required of Object.keys(options).filter((option) => options[option]?.required === true)) {
      const at = words.indexOf(`--${required}`);
      await expect(words.toSpliced(at, 2), `--${required} is required`);
    }
  }
});

test('invalid numbers and cursors are wrong usage', async (t) => {
  const { run: onFolder } = await initialised(t);
  const wrong: readonly string[][] = [
    ['application', 'create', '--name', 'x', '--user', 'admin', '--validity-seconds', '1h'],
    ['user', 'list', '--limit', '0'],
    ['user', 'list', '--limit', '201'],
    ['user', 'list', '--cursor', 'x'],
    ['webhook', 'create', '--name', 'x', '--endpoint', 'x', '--event', '*', '--header', 'x-tenant=17'],
  ];
  for (const words of wrong) {
    const { status, stdout, stderr } = await onFolder(words);
    assert.deepEqual([status, stdout], [2, ''], stderr);
    assert.match(stderr, new RegExp(`^sallyport ${words.slice(0, 2).join(' ')}: ${words.at(-2)} `));
  }
});

test('every command on data refuses an empty folder', async () => {
  const others = ['backup verify', 'init', 'listen', 'restore', 'serve', 'version', 'doctor', 'completion'];
  // These two need the URL of a PostgreSQL database.
  others.push('migrate', 'move');
  const withoutData = (await everyCommand()).filter(({ name }) => !others.includes(name));
  for (const command of withoutData) {
    const { status, stdout, stderr } = await here(
      ...complete(command).map((word, at, all) => (/--(data|data-schema)$/.test(all[at - 1] ?? '') ? '{}' : word)),
    );
    assert.deepEqual([status, stdout], [1, ''], command.name);
    assert.match(stderr, /^sallyport: SALLYPORT_DATA: there is no data in \/nowhere yet/, command.name);
  }
});

test('version prints the version of package.json', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  assert.equal(version, VERSION);
  assert.deepEqual(await sallyport(['version']), { status: 0, stdout: `${version}\n`, stderr: '' });
  assert.equal((await here('--version')).stdout, `${version}\n`);
  assert.equal((await here('version', '--json')).stdout, `{"version":"${version}"}\n`);
});

test('version ignores invalid settings', async () => {
  assert.equal((await sallyport(['version'], { env: { SALLYPORT_NONSENSE: '1' } })).status, 0);
  const { status, stderr } = await sallyport(['user', 'list'], { env: { SALLYPORT_NONSENSE: '1' } });
  assert.equal(status, 2);
  assert.match(stderr, /^sallyport: SALLYPORT_NONSENSE is not a setting/);
});
