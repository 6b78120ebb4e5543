/** The fields of an API product. */
import { html } from '../../http/html.ts';
import { RULES_PER_PRODUCT_MAX, SCOPES_PER_PRODUCT_MAX } from '../../kernel/limits/limits.ts';
import { type FieldTable, type FormField, rows, text } from '../field-table.ts';
import type { FormState } from '../parts/form-state.ts';

const RULE_ROWS = rows({
  label: 'Rules',
  hint: html`The scope that each request needs. <code>{id}</code> matches one segment of the path, <code>{rest*}</code> at the end matches the rest. If several rules match, the one with the longest literal beginning wins. The user needs the permission with the name of the scope, unless the rule names another one.`,
  fields: [
    { name: 'methods', label: 'Methods', placeholder: 'GET, PATCH' },
    { name: 'path', label: 'Path', placeholder: '/shop/orders/{id}' },
    { name: 'scope', label: 'Scope', placeholder: 'orders:view' },
    { name: 'permission', label: 'Permission', placeholder: 'as the scope' },
  ],
  spare: 3,
  max: RULES_PER_PRODUCT_MAX,
});

type Row = Readonly<Record<string, string>>;
type Rule = { readonly methods: readonly string[] };
const readRules = (...sent: Parameters<FormField['read']>): Row[] => RULE_ROWS.read(...sent) as Row[];

export const PRODUCT_FIELDS: FieldTable = {
  name: text({ label: 'Name', isRequired: true, hint: 'Shown where people choose scopes.' }),
  scopes: rows({
    label: 'Scopes',
    hint: html`What a program can be allowed to do, such as <code>orders:view</code>, and a sentence that describes it.`,
    fields: [
      { name: 'name', label: 'Scope', placeholder: 'orders:view' },
      { name: 'description', label: 'What it allows', placeholder: 'See orders.' },
    ],
    spare: 2,
    max: SCOPES_PER_PRODUCT_MAX,
  }),
  rules: {
    ...RULE_ROWS,
    read: (sent, name) =>
      readRules(sent, name).map(({ methods = '', permission, ...row }) => ({
        methods: methods.split(/[\s,]+/).filter((method) => method !== ''),
        ...row,
        ...(permission && { permission }),
      })),
    fill: (value, name) => {
      const rules = (value ?? []) as readonly Rule[];
      return RULE_ROWS.fill(
        rules.map((rule) => ({ ...rule, methods: rule.methods.join(', ') })),
        name,
      );
    },
    compare: (sent, name) =>
      readRules(sent, name).map((row) =>
        Object.values(row)
          .filter((value) => value !== '')
          .join(' '),
      ),
  },
};

/** Names the rows that have a problem, counted from 1: `Rule 2, path:`. */
export function rowTitles({ problems }: FormState): Readonly<Record<string, string>> {
  return Object.fromEntries(
    problems.flatMap(({ field }) => {
      const [, list, at, member] = /^(scopes|rules)\[(\d+)\](?:\.(\w+))?/.exec(field) ?? [];
      if (list === undefined) return [];
      const row = `${list === 'rules' ? 'Rule' : 'Scope'} ${Number(at) + 1}`;
      return [[field, member === undefined ? row : `${row}, ${member}:`]];
    }),
  );
}
