/** `sallyport key …`: the PGP keys for which deliveries are encrypted. */

import { COMMAND_LINE } from '../domain/acting.ts';
import type { PgpKey } from '../domain/webhook.ts';
import type { Composed } from '../services/compose.ts';
import { KEY_LIST, type KeyBody, keyReader, viewKey } from '../webhooks/keys.ts';
import type { CommandGroup, Invocation } from './command.ts';
import { CUSTOMER_OPTION, customerIdOf } from './customer.ts';
import { bodyOf, readFileOrInput } from './input.ts';
import { recordCommand } from './open.ts';
import type { Shown } from './output.ts';
import { type Configured, deleteCommand, listCommand, showCommand, updateCommand } from './resource.ts';

const KEY: Configured<PgpKey, KeyBody> = {
  group: 'key',
  path: 'keys',
  operand: { name: 'name', description: 'The name of the key' },
  example: { name: 'acme', fields: '{"name":"acme-2027"}' },
  administration: ({ services }) => services.keys,
  reader: keyReader,
  names: ({ name }) => [name],
  view: shown,
  updateExplanation: 'Webhooks that use the key continue with its new name, or with the new or renewed key.',
};

export const keyCommands: CommandGroup = [
  recordCommand({
    name: 'key import',
    summary: 'Import a PGP public key',
    examples: ['sallyport key import acme-public.asc --name acme'],
    operands: [{ name: 'file', field: 'publicKey', description: 'The armored public key; - reads standard input' }],
    options: {
      ...CUSTOMER_OPTION,
      name: { value: '<name>', required: true, description: 'The name by which webhooks refer to it' },
    },
    run: async (composed, invocation) => {
      const publicKey = await readFileOrInput(invocation, invocation.operand('file'));
      const body = await bodyOf(invocation, { customerId: await customerIdOf(composed, invocation), publicKey });
      const key = await composed.services.keys.create(keyReader.create(body), COMMAND_LINE);
      return { record: shown(key, composed, invocation) };
    },
  }),
  listCommand(KEY, {
    rules: KEY_LIST,
    columns: ['name', 'customer', 'algorithm', 'expiresAt', 'expired', { field: 'fingerprint', whole: true }],
  }),
  showCommand(KEY),
  updateCommand(KEY, {
    options: {
      name: { value: '<name>', description: 'A new name' },
      'public-key': { value: '<file>', description: 'The armored key that replaces it; - reads standard input' },
    },
    read: async (invocation) => {
      const file = invocation.text('public-key');
      return { publicKey: file === undefined ? undefined : await readFileOrInput(invocation, file) };
    },
  }),
  deleteCommand(KEY, 'A key that a webhook uses cannot be deleted.'),
];

/** Without the armor, which is long, unless programs read it. */
function shown(key: PgpKey, { clock }: Pick<Composed, 'clock'>, { json }: Invocation): Shown {
  const { publicKey, ...view } = viewKey(key, clock());
  return json ? { ...view, publicKey } : view;
}
