/** `sallyport key …`: the PGP keys that deliveries are encrypted for. */

import type { Composed } from '../compose.ts';
import { definedFields } from '../kernel/validation.ts';
import { COMMAND_LINE } from '../resources/acting.ts';
import type { PgpKey } from '../webhooks/key.ts';
import { viewKey } from '../webhooks/keys.ts';
import type { CommandGroup, Invocation } from './command.ts';
import { CommandError } from './errors.ts';
import { readFileOrInput } from './input.ts';
import { DATA_SETTINGS, withData } from './open.ts';
import { printRecord } from './output.ts';
import { listCommand, removeCommand, showCommand, updateCommand } from './resource.ts';

const KEY: Parameters<typeof showCommand<PgpKey>>[0] = {
  group: 'key',
  path: 'keys',
  operand: { name: 'name', description: 'What webhooks call it' },
  administration: ({ services }) => services.keys,
  id: async ({ store }, name) => {
    const key = await store.keys.getByName(name);
    if (key === null) throw new CommandError(`there is no key ${name}`);
    return key.id;
  },
  view: shown,
  updateExplanation:
    'Webhooks that encrypt for it go on with what it then is: under another name, or as its owner has renewed or replaced it.',
};

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
        await printRecord(invocation, shown(key, { clock }, invocation));
        return 0;
      }),
  },
  listCommand({
    name: 'key list',
    summary: 'List the PGP keys',
    columns: ['name', 'algorithm', 'expiresAt', 'expired', 'fingerprint'],
    administration: ({ services }) => services.keys,
    view: (key, { clock }) => viewKey(key, clock()),
  }),
  showCommand(KEY),
  updateCommand(KEY, {
    options: {
      name: { value: '<name>', description: 'Another name' },
      'public-key': { value: '<file>', description: 'What takes its place, armored; - reads standard input' },
    },
    read: async (invocation) => {
      const file = invocation.text('public-key');
      return definedFields({
        name: invocation.text('name'),
        publicKey: file === undefined ? undefined : await readFileOrInput(invocation, file),
      });
    },
  }),
  removeCommand(KEY, 'One that a webhook encrypts for stays.'),
];

/** People are not shown the armor, which is long. */
function shown(
  key: PgpKey,
  { clock }: Pick<Composed, 'clock'>,
  { json }: Invocation,
): Readonly<Record<string, unknown>> {
  const { publicKey, ...view } = viewKey(key, clock());
  return json ? { ...view, publicKey } : view;
}
