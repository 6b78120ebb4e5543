/** `sallyport product …`: the API catalogue, and who may call what. */

import { type ProductBody, type ProductView, productReader, viewProduct } from '../access/products.ts';
import { reachOf } from '../access/reach.ts';
import { COMMAND_LINE } from '../domain/acting.ts';
import type { ApiProduct } from '../domain/catalogue.ts';
import { definedFields } from '../kernel/validation.ts';
import type { Command, CommandGroup, Invocation, Option } from './command.ts';
import { CommandError, UsageError } from './errors.ts';
import { bodyOf } from './input.ts';
import { dataCommand } from './open.ts';
import { printRecord, recordText, type Shown, tableText } from './output.ts';
import { type Configured, deleteCommand, listCommand, showCommand, updateCommand } from './resource.ts';

const HOW_PATHS_MATCH =
  'In a path, {name} matches one segment, and {name*} at the end matches the rest. The longest literal match wins.';

const OPTIONS: Readonly<Record<string, Option>> = {
  name: { value: '<name>', description: 'Name, shown in lists and messages' },
  scope: {
    value: '<scope>',
    many: true,
    field: 'scopes',
    description: "A scope, as orders:view or 'orders:view=See orders.'",
  },
  rule: {
    value: '<rule>',
    field: 'rules',
    many: true,
    description: "What a scope permits, as 'GET,POST /orders/{id} orders:view [<permission>]'",
  },
};

const PRODUCT: Configured<ApiProduct, ProductBody> = {
  group: 'product',
  path: 'products',
  operand: { name: 'product', description: 'The id or name of the product' },
  example: { name: 'Orders', fields: '{"name":"Shop"}' },
  administration: ({ services }) => services.products,
  reader: productReader,
  names: ({ name }) => [name],
  view: viewProduct,
  print: printProduct,
  updateExplanation: `New scopes and rules replace all old ones.\n${HOW_PATHS_MATCH}`,
};

export const productCommands: CommandGroup = [
  listCommand(PRODUCT, {
    columns: ['name', 'builtIn', 'scopes', 'rules', 'id'],
    view: (product, _, invocation) => summarised(invocation, viewProduct(product)),
  }),
  showCommand(PRODUCT),
  dataCommand({
    name: 'product create',
    summary: 'Create a product',
    examples: [
      "sallyport product create --name Orders --scope 'orders:view=See orders.' --rule 'GET /orders/{id} orders:view'",
    ],
    explanation: HOW_PATHS_MATCH,
    options: {
      ...OPTIONS,
      fields: { value: '<json|@file|->', description: 'name, scopes and rules as a JSON object' },
    },
    check: readOptions,
    run: async ({ services }, invocation) => {
      const body = await bodyOf(invocation, readOptions(invocation));
      await printProduct(invocation, await services.products.create(productReader.create(body), COMMAND_LINE));
    },
  }),
  updateCommand(PRODUCT, { options: OPTIONS, read: async (invocation) => readOptions(invocation) }),
  deleteCommand(PRODUCT, 'A product with a scope that an application has cannot be deleted.'),
  checkCommand(),
];

function checkCommand(): Command {
  return dataCommand({
    name: 'product check',
    summary: 'Show who may call a path with a method now',
    examples: ['sallyport product check GET /orders/17'],
    explanation: 'Fails (exit status 1) if nobody may: no rule matches the path, or the path is ambiguous.',
    operands: [
      { name: 'method', description: 'The method, in upper case' },
      { name: 'path', description: 'The path as a client would send it' },
    ],
    run: async ({ services, store }, invocation) => {
      const { json, terminal } = invocation;
      const [method, path] = [invocation.operand('method'), invocation.operand('path')];
      const reach = await reachOf({ catalogue: services.products.compiled(), store }, method, path);
      if (json) await terminal.out(`${JSON.stringify(reach)}\n`);
      if (reach.rule === null) {
        if (!json) throw new CommandError(`nobody may call it: ${reach.reason}`);
        return 1;
      }
      if (json) return 0;
      const { pattern, productName: product, scope, permission, params } = reach.rule;
      const parameters = Object.entries(params).map(([name, value]) => `${name}=${value}`);
      const rule = { rule: `${method} ${pattern}`, product, scope, permission, parameters };
      const applications = reach.applications.map(({ obstacle, ...holder }) => ({
        ...holder,
        may: obstacle === null ? 'yes' : `no: ${obstacle}`,
      }));
      const holders =
        applications.length === 0
          ? 'No application has the scope.\n'
          : tableText(applications, ['name', 'clientId', { field: 'may', whole: true }], terminal.width);
      await terminal.out(`${recordText(rule)}\n${holders}`);
      return 0;
    },
  });
}

async function printProduct(invocation: Invocation, product: ApiProduct): Promise<void> {
  const { scopes, rules, ...shown } = viewProduct(product);
  if (invocation.json) return printRecord(invocation, { ...shown, scopes, rules });
  const lines = [
    recordText(shown),
    ...rules.map((rule) => recordText({ rule: ruleText(rule) })),
    ...scopes.map((scope) => recordText({ scope: scopeText(scope) })),
  ];
  await invocation.terminal.out(lines.join(''));
}

/** The table of a list shows the numbers of scopes and rules. */
function summarised({ json }: Invocation, product: ProductView): Shown & { readonly id: string } {
  return json ? product : { ...product, scopes: product.scopes.length, rules: product.rules.length };
}

function ruleText({ methods, path, scope, permission }: ProductView['rules'][number]): string {
  return [methods.join(','), path, scope, ...(permission === undefined ? [] : [permission])].join(' ');
}

function scopeText({ name, description }: ProductView['scopes'][number]): string {
  return description === '' ? name : `${name}=${description}`;
}

function readOptions(invocation: Invocation): Readonly<Record<string, unknown>> {
  const [scopes, rules] = [invocation.texts('scope'), invocation.texts('rule')];
  return {
    scopes: scopes.length === 0 ? undefined : scopes.map(readScope),
    rules: rules.length === 0 ? undefined : rules.map((rule) => readRule(invocation, rule)),
  };
}

type Scope = ProductView['scopes'][number];

function readScope(text: string): Scope {
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
