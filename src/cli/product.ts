/** `sallyport product …`: the API catalogue, and who may reach what. */
import { type ProductView, viewProduct } from '../access/products.ts';
import { reachOf } from '../access/reach.ts';
import type { Composed } from '../compose.ts';
import { isUuidV7 } from '../kernel/ids.ts';
import { definedFields } from '../kernel/validation.ts';
import { COMMAND_LINE } from '../resources/acting.ts';
import type { CommandGroup, Invocation, Operand, Option } from './command.ts';
import { CommandError, UsageError } from './errors.ts';
import { readJsonObject } from './input.ts';
import { DATA_SETTINGS, withData } from './open.ts';
import { printRecord, recordText, tableText } from './output.ts';
import { listCommand } from './resource.ts';

const PRODUCT: Operand = { name: 'product', description: "The product's id or name" };

const FIELDS: Readonly<Record<string, Option>> = {
  scope: { value: '<scope>', many: true, description: "A scope, as orders:view or 'orders:view=See orders.'" },
  rule: {
    value: '<rule>',
    many: true,
    description: "What a scope lets in, as 'GET,POST /orders/{id} orders:view [<permission>]'",
  },
  fields: { value: '<json|@file|->', description: 'name, scopes and rules as a JSON object' },
};
const HOW_PATHS_MATCH =
  'In a path {name} takes one segment and a last {name*} the rest. The longest literal match wins.';

export const productCommands: CommandGroup = [
  listCommand({
    name: 'product list',
    summary: 'List the products',
    columns: ['id', 'name', 'builtIn', 'scopes', 'rules'],
    administration: ({ services }) => services.products,
    view: (product, _, invocation) => summarised(invocation, viewProduct(product)),
  }),
  {
    name: 'product show',
    summary: 'Show a product with its scopes and rules',
    operands: [PRODUCT],
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async (composed) => {
        await printProduct(invocation, await composed.services.products.get(await productId(composed, invocation)));
        return 0;
      }),
  },
  {
    name: 'product create',
    summary: 'Create a product',
    explanation: HOW_PATHS_MATCH,
    options: { name: { value: '<name>', description: 'What people call it' }, ...FIELDS },
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const body = await readFields(invocation);
      return withData(invocation, async ({ services }) => {
        await printProduct(invocation, await services.products.create(body, COMMAND_LINE));
        return 0;
      });
    },
  },
  {
    name: 'product update',
    summary: 'Change a product',
    explanation: `${HOW_PATHS_MATCH}\nWhat is not given stays; scopes and rules that are given take the place of all there were.`,
    operands: [PRODUCT],
    options: { name: { value: '<name>', description: 'Another name' }, ...FIELDS },
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const patch = await readFields(invocation);
      return withData(invocation, async (composed) => {
        const id = await productId(composed, invocation);
        await printProduct(invocation, await composed.services.products.patch(id, patch, COMMAND_LINE));
        return 0;
      });
    },
  },
  {
    name: 'product remove',
    summary: 'Remove a product whose scopes no application holds',
    operands: [PRODUCT],
    settings: DATA_SETTINGS,
    json: false,
    run: (invocation) =>
      withData(invocation, async (composed) => {
        await composed.services.products.remove(await productId(composed, invocation), COMMAND_LINE);
        return 0;
      }),
  },
  {
    name: 'product check',
    summary: 'Say who could call a path with a method now',
    explanation: 'Fails where nobody could, because no rule names it or the path can be read in two ways.',
    operands: [
      { name: 'method', description: 'The method, in upper case' },
      { name: 'path', description: 'The path as a client would send it' },
    ],
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async ({ services, store }) => {
        const { json, terminal } = invocation;
        const [method, path] = [invocation.operand('method'), invocation.operand('path')];
        const reach = await reachOf({ catalogue: services.products.compiled(), store }, method, path);
        if (json) await terminal.out(`${JSON.stringify(reach)}\n`);
        if (reach.rule === null) {
          if (!json) throw new CommandError(`nobody could: ${reach.reason}`);
          return 1;
        }
        if (json) return 0;
        const { pattern, productName: product, scope, permission, params } = reach.rule;
        const parameters = Object.entries(params).map(([name, value]) => `${name}=${value}`);
        const rule = { rule: `${method} ${pattern}`, product, scope, permission, parameters };
        await terminal.out(`${recordText(rule)}\n`);
        const applications = reach.applications.map(({ obstacle, ...holder }) => ({
          ...holder,
          may: obstacle === null ? 'yes' : `no: ${obstacle}`,
        }));
        const none = 'No application holds the scope.\n';
        await terminal.out(
          applications.length === 0 ? none : tableText(applications, ['name', 'clientId', 'userName', 'may']),
        );
        return 0;
      }),
  },
];

async function printProduct(invocation: Invocation, product: Parameters<typeof viewProduct>[0]): Promise<void> {
  const { scopes, rules, ...shown } = viewProduct(product);
  if (invocation.json) return printRecord(invocation, { ...shown, scopes, rules });
  const lines = [
    recordText(shown),
    ...rules.map((rule) => recordText({ rule: ruleText(rule) })),
    ...scopes.map((scope) => recordText({ scope: scopeText(scope) })),
  ];
  await invocation.terminal.out(lines.join(''));
}

/** People see how many there are in a list. */
function summarised({ json }: Invocation, product: ProductView): Readonly<Record<string, unknown>> & { id: string } {
  return json ? product : { ...product, scopes: product.scopes.length, rules: product.rules.length };
}

function ruleText({ methods, path, scope, permission }: ProductView['rules'][number]): string {
  return [methods.join(','), path, scope, ...(permission === undefined ? [] : [permission])].join(' ');
}

function scopeText({ name, description }: ProductView['scopes'][number]): string {
  return description === '' ? name : `${name}=${description}`;
}

async function readFields(invocation: Invocation): Promise<Readonly<Record<string, unknown>>> {
  const [scopes, rules] = [invocation.texts('scope'), invocation.texts('rule')];
  return {
    ...(await readJsonObject(invocation, 'fields')),
    ...definedFields({
      name: invocation.text('name'),
      scopes: scopes.length === 0 ? undefined : scopes.map(readScope),
      rules: rules.length === 0 ? undefined : rules.map((rule) => readRule(invocation, rule)),
    }),
  };
}

function readScope(text: string): { name: string; description: string } {
  const at = text.indexOf('=');
  return at === -1 ? { name: text, description: '' } : { name: text.slice(0, at), description: text.slice(at + 1) };
}

function readRule({ command }: Invocation, text: string): Readonly<Record<string, unknown>> {
  const [methods, path, scope, permission, ...more] = text.trim().split(/\s+/);
  if (methods === undefined || path === undefined || scope === undefined || more.length > 0) {
    throw new UsageError(
      `--rule ${JSON.stringify(text)} is not '<methods> <path> <scope> [<permission>]'`,
      command.name,
    );
  }
  return definedFields({ methods: methods.split(','), path, scope, permission });
}

async function productId({ store }: Composed, invocation: Invocation): Promise<string> {
  const wanted = invocation.operand('product');
  if (isUuidV7(wanted)) return wanted;
  const found = (await store.products.all()).find(({ name }) => name === wanted);
  if (found === undefined) throw new CommandError(`there is no product ${wanted}`);
  return found.id;
}
