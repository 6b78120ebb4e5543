/** The first minute: `sallyport serve` at a terminal, the link that it prints, a password, and the portal. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inviteFirstAdministrator } from '../../src/data/first-start.ts';
import { SERVICE } from '../../src/domain/acting.ts';
import { openVisitor } from '../support/browser.ts';
import { cleanUp } from '../support/cleanup.ts';
import { unusedFolder } from '../support/command.ts';
import { lacking } from '../support/programs.ts';
import { refused } from '../support/refusals.ts';
import { openTestServices } from '../support/services.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** Runs a program on a terminal, and passes its output on. */
const TERMINAL = 'import pty, sys; pty.spawn(sys.argv[1:])';
const PASSWORD = 'seventeen badgers at dawn';

/** The output of a first `serve` on a terminal, until it contains the link. */
async function firstServe(t: TestContext): Promise<string> {
  const serve = [process.execPath, '--disable-warning=ExperimentalWarning', MAIN, 'serve', '--port', '0'];
  const args = ['-c', TERMINAL, ...serve, '--data', unusedFolder(t), '--log-level', 'error'];
  const child = spawn('python3', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  cleanUp(t, async () => {
    const exited = once(child, 'exit');
    child.kill();
    await exited;
  });
  let written = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    written += chunk as string;
    if (/invitations\/spi_\w+\s*\n/.test(written)) break;
  }
  return written.replaceAll('\r\n', '\n');
}

describe('the first start at a terminal', { skip: lacking('python3') }, () => {
  it('leads by its link to a password of one’s own, and from there into the portal', async (t) => {
    const written = await firstServe(t);
    assert.match(written, /administrator {2}admin\npassword {7}\S+\nclient id {6}spc_\w+\nclient secret {2}sps_\w+\n/);
    const link = /http:\S+\/invitations\/spi_\w+/.exec(written)?.[0] ?? '';
    const { page, isAccessible } = await openVisitor(t, new URL(link).origin, { expecting: [404] });
    await page.goto(link);
    assert.equal(await page.getByLabel('User name').inputValue(), 'admin');
    await isAccessible();
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByLabel('Password again').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByText('Your password is set, and you are signed in.').waitFor();
    await page.getByRole('heading', { name: 'Set up' }).waitFor();
    await page.goto(link);
    await page.getByRole('heading', { name: 'This link cannot be used' }).waitFor();
  });
});

describe('the first invitation', () => {
  it('is made only for the first administrator, and replaces an earlier one', async (t) => {
    const services = await openTestServices(t);
    const credentials = { dataDir: '', adminUserName: 'admin', adminPassword: '', clientId: '', clientSecret: '' };
    const first = { store: services.store, services, firstCredentials: credentials };
    assert.equal(await inviteFirstAdministrator({ ...first, firstCredentials: null }, 'https://edge.example'), null);
    assert.equal(await inviteFirstAdministrator(first, 'https://edge.example'), null);
    const { id } = await services.users.create({ userName: 'admin', role: 'administrator' }, SERVICE);
    const links: string[] = [];
    for (let at = 0; at < 2; at += 1) links.push((await inviteFirstAdministrator(first, 'https://edge.example')) ?? '');
    const tokens = links.map((link) => link.replace('https://edge.example/invitations/', ''));
    assert.equal(await services.invitations.find(tokens[0] ?? ''), null);
    assert.equal((await services.invitations.find(tokens[1] ?? ''))?.id, id);
    // The last active administrator stays.
    await services.users.create({ userName: 'other', role: 'administrator' }, SERVICE);
    await services.users.patch(id, { active: false }, SERVICE);
    assert.equal(await inviteFirstAdministrator(first, 'https://edge.example'), null);
    await refused(() => services.invitations.accept(tokens[1] ?? '', { password: PASSWORD, passwordAgain: PASSWORD }), {
      code: 'not_found',
    });
  });
});
