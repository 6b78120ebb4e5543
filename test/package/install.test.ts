/** The scripts of package.json install on a fresh checkout: `npm start` the packages of the service, `npm test` all. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { programOf } from '../../scripts/runtimes/programs.ts';
import { baseEnvironment } from '../support/environment.ts';
import { temporaryFolder } from '../support/service.ts';

const scripts = join(import.meta.dirname, '..', '..', 'scripts');
const { scripts: commands, devDependencies } = JSON.parse(
  readFileSync(join(scripts, '..', 'package.json'), 'utf8'),
) as Record<'scripts' | 'devDependencies', Record<string, string>>;

test('npm start installs the packages of the service only, and npm test adds the others beside a running service', (t) => {
  const folder = temporaryFolder(t);
  const checkout = join(folder, 'checkout');
  for (const name of ['run.mjs', 'install.mjs', 'launch.mjs']) {
    mkdirSync(join(checkout, 'scripts'), { recursive: true });
    copyFileSync(join(scripts, name), join(checkout, 'scripts', name));
  }
  for (const program of ['src/main.ts', 'scripts/suite.ts'])
    write(join(checkout, program), `console.log(process.argv.slice(2).join(' '));`);
  const env = { ...baseEnvironment(), HOME: folder, PATH: `${dirname(programOf('node24').path)}:${process.env.PATH}` };
  let told = '';
  const run = (command: string, cwd: string): string => {
    const { stdout, stderr, status } = spawnSync('sh', ['-c', command], { cwd, env, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    told = stderr;
    return stdout;
  };
  for (const name of ['served', 'tested', 'added']) {
    write(join(folder, name, 'package', 'package.json'), JSON.stringify({ name, version: '1.0.0' }));
    run(`tar -czf ../${name}.tgz package`, join(folder, name));
  }
  const isInstalled = (name: string): boolean => existsSync(join(checkout, 'node_modules', name));
  /** Not in the checkout, because npm would list the packages there as installed. */
  const depend = (...names: string[]): void => {
    const locked = join(folder, 'locked');
    const dependencies = Object.fromEntries(names.map((name) => [name, `file:../${name}.tgz`]));
    const description = { type: 'module', dependencies, devDependencies: { tested: 'file:../tested.tgz' } };
    write(join(locked, 'package.json'), JSON.stringify(description));
    run('npm install --package-lock-only --offline --silent', locked);
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(locked, name), join(checkout, name));
  };

  depend('served');
  assert.equal(run(commands.start ?? '', checkout), 'serve\n');
  assert.deepEqual([isInstalled('served'), isInstalled('tested')], [true, false]);
  assert.match(
    told,
    /^Installing Node 24 and 1 packages\. This takes about 10 seconds, .*\nInstalled in \d+ s\. Starting …\n$/,
  );

  // `npm ci` would remove the files that a running service still reads.
  const read = join(checkout, 'node_modules', 'served', 'read-by-the-service');
  writeFileSync(read, '');
  depend('served', 'added');
  assert.equal(run(commands.start ?? '', checkout), 'serve\n');
  assert.deepEqual([isInstalled('added'), isInstalled('tested'), existsSync(read)], [true, false, true]);

  assert.equal(run(commands['test:slow'] ?? '', checkout), '--slow\n');
  assert.deepEqual([isInstalled('tested'), existsSync(read)], [true, true]);
});

test('npm run dev serves, with threads of which node --watch reports the files too', async (t) => {
  const command = `${commands.dev} --data ${temporaryFolder(t)} --port 0`;
  const child = spawn('sh', ['-c', command], {
    cwd: join(scripts, '..'),
    env: baseEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill());
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (/ listens on |Failed running/.test(output)) child.kill();
    });
  }
  await once(child, 'close');
  assert.match(output, / listens on http/);
});

test('a script that installs the packages of the service only imports no other package', () => {
  const files = Object.values(commands).flatMap((command) => {
    const [, words = ''] = command.split(' scripts/run.mjs ');
    return words.includes('--development') ? [] : words.split(' ').filter((word) => /\.ts$/.test(word));
  });
  assert.ok(files.includes('src/main.ts') && files.length > 3, files.join());
  for (const file of files) {
    for (const imported of importedBy(join(scripts, '..', file), new Set())) {
      const source = readFileSync(imported, 'utf8');
      const wrong = Object.keys(devDependencies).filter((name) => source.includes(`from '${name}'`));
      assert.deepEqual(wrong, [], `${file} imports ${imported}`);
    }
  }
});

/** The file, and all local files that it imports, directly or not. */
function importedBy(file: string, found: Set<string>): Set<string> {
  if (found.has(file) || !existsSync(file)) return found;
  found.add(file);
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/\b(?:from |import |import\()'(\.[^']+)'/g))
    importedBy(resolve(dirname(file), path), found);
  return found;
}

function write(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
