/** The fields of an API product, what they send, and what a product has now. */

import type { ApiProduct } from '../../access/catalogue.ts';
import { type Html, html } from '../../http/html.ts';
import { RULES_PER_PRODUCT_MAX, SCOPES_PER_PRODUCT_MAX } from '../../kernel/limits/limits.ts';
import { readRows, repeatableRows } from '../parts/choices.ts';
import { textField } from '../parts/fields.ts';
import { fieldGroup } from '../parts/form.ts';
import { type FormState, newForm } from '../parts/form-state.ts';

const SCOPE_FIELDS = ['scopeName', 'scopeDescription'] as const;
const RULE_FIELDS = ['ruleMethods', 'rulePath', 'ruleScope', 'rulePermission'] as const;

export function productForm({ name, scopes, rules }: ApiProduct): FormState {
  return newForm({
    name,
    scopeName: scopes.map((scope) => scope.name),
    scopeDescription: scopes.map(({ description }) => description),
    ruleMethods: rules.map(({ methods }) => methods.join(', ')),
    rulePath: rules.map(({ path }) => path),
    ruleScope: rules.map(({ scope }) => scope),
    rulePermission: rules.map(({ permission }) => permission ?? ''),
  });
}

/** The body that the use cases take: a creation, or a merge patch of all that the form has. */
export function productBody(form: URLSearchParams) {
  const read = (name: string): readonly string[] => form.getAll(name);
  return {
    name: form.get('name') ?? '',
    scopes: readRows(read, SCOPE_FIELDS).map(({ scopeName = '', scopeDescription = '' }) => ({
      name: scopeName,
      description: scopeDescription,
    })),
    rules: readRows(read, RULE_FIELDS).map(({ ruleMethods = '', rulePath = '', ruleScope = '', rulePermission }) => ({
      methods: ruleMethods.split(/[\s,]+/).filter((method) => method !== ''),
      path: rulePath,
      scope: ruleScope,
      ...(rulePermission && { permission: rulePermission }),
    })),
  };
}

/** What a form sends, with a line for each scope and rule. */
export function comparedProduct(form: URLSearchParams): Readonly<Record<string, unknown>> {
  const { name, scopes, rules } = productBody(form);
  return {
    name,
    scopes: scopes.map((scope) => `${scope.name}: ${scope.description}`),
    rules: rules.map(({ methods, path, scope, permission }) =>
      [methods.join(' '), path, scope, ...(permission === undefined ? [] : [`(${permission})`])].join(' '),
    ),
  };
}

/** Names of the fields that have something wrong: rows are counted from 1. */
export function productLabels(state: FormState): Readonly<Record<string, string>> {
  const rows = state.problems.flatMap(({ field }) => {
    const [, list, at, member] = /^(scopes|rules)\[(\d+)\](?:\.(\w+))?/.exec(field) ?? [];
    if (list === undefined) return [];
    return [
      [field, `${list === 'rules' ? 'Rule' : 'Scope'} ${Number(at) + 1}${member === undefined ? '' : `, ${member}:`}`],
    ];
  });
  return { name: 'Name', scopes: 'Scopes', rules: 'Rules', ...Object.fromEntries(rows) };
}

export function productFields(form: FormState): Html {
  return html`${fieldGroup('The API', null, [
    textField(form, { name: 'name', label: 'Name', isRequired: true, hint: 'What people who pick scopes will see.' }),
  ])}${repeatableRows(form, {
    name: 'scopes',
    label: 'Scopes',
    hint: html`What a program can be allowed, as <code>orders:view</code>, and in a sentence what that is.`,
    fields: [
      { name: 'scopeName', label: 'Scope', placeholder: 'orders:view' },
      { name: 'scopeDescription', label: 'What it allows', placeholder: 'See orders.' },
    ],
    spare: 2,
    max: SCOPES_PER_PRODUCT_MAX,
  })}${repeatableRows(form, {
    name: 'rules',
    label: 'Rules',
    hint: html`Which request takes which scope. <code>{id}</code> stands for one segment of the path, a last <code>{rest*}</code> for all that follows. Of several rules that fit, the one with the longest literal beginning counts. The user needs the permission with the scope's name, unless another is given.`,
    fields: [
      { name: 'ruleMethods', label: 'Methods', placeholder: 'GET, PATCH' },
      { name: 'rulePath', label: 'Path', placeholder: '/shop/orders/{id}' },
      { name: 'ruleScope', label: 'Scope', placeholder: 'orders:view' },
      { name: 'rulePermission', label: 'Permission', placeholder: 'as the scope' },
    ],
    spare: 3,
    max: RULES_PER_PRODUCT_MAX,
  })}`;
}
