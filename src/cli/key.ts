/** `sallyport key …`: the PGP keys that deliveries are encrypted for. */
import { COMMAND_LINE } from '../audit.ts';
import { viewKey } from '../webhooks/keys.ts';
import type { CommandGroup } from './command.ts';
import { PAGE_OPTIONS, readFileOrInput, readPage } from './input.ts';
import { DATA_SETTINGS, withData } from './open.ts';
import { printPage, printRecord } from './output.ts';

export const keyCommands: CommandGroup = [
  {
    name: 'key import',
    summary: 'Import a PGP public key',
    operands: [{ name: 'file', description: 'The armored public key; - reads standard input' }],
    options: { name: { value: '<name>', required: true, description: 'What webhooks call it' } },
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services, clock }) => {
        const publicKey = await readFileOrInput(invocation, invocation.operand('file'));
        const key = await services.keys.create({ name: invocation.text('name'), publicKey }, COMMAND_LINE);
        const { publicKey: armor, ...shown } = viewKey(key, clock());
        await printRecord(invocation, invocation.json ? { ...shown, publicKey: armor } : shown);
        return 0;
      }),
  },
  {
    name: 'key list',
    summary: 'List the PGP keys',
    options: PAGE_OPTIONS,
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services, clock }) => {
        const page = await readPage(
          invocation,
          (after, limit) => services.keys.list(after ?? '', limit),
          (key) => viewKey(key, clock()),
        );
        await printPage(invocation, page, ['name', 'algorithm', 'expiresAt', 'expired', 'fingerprint']);
        return 0;
      }),
  },
];
