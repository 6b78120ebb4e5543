/** Permissions as people pick them: those that rules of the API catalogue ask for, and others by their name. */

import type { ApiProduct } from '../../access/catalogue.ts';
import type { Html } from '../../http/html.ts';
import { checkboxGroup } from './choices.ts';
import { textField } from './fields.ts';
import type { FormState } from './form-state.ts';
import { ownFirst } from './scope-choices.ts';

/** Boxes by product, and a field for permissions that no rule asks for now, such as those of a product that is gone. */
export function permissionChoices(form: FormState, products: readonly ApiProduct[]): Html[] {
  const groups = ownFirst(products).map((product) => ({ product, permissions: permissionsOf(product) }));
  const known = new Set(groups.flatMap(({ permissions }) => permissions.map(({ name }) => name)));
  const others = form.values('permissions').filter((name) => !known.has(name));
  return [
    ...groups
      .filter(({ permissions }) => permissions.length > 0)
      .map(({ product, permissions }, at) =>
        checkboxGroup(form, {
          name: 'permissions',
          key: at === 0 ? 'permissions' : `permissions-${product.id}`,
          label: product.name,
          choices: permissions.map(({ name, description }) => ({ value: name, label: name, hint: description })),
        }),
      ),
    ...(others.length === 0
      ? []
      : [
          checkboxGroup(form, {
            name: 'permissions',
            key: 'permissions-others',
            label: 'Others that it has',
            hint: 'No rule asks for them now.',
            choices: others.map((name) => ({ value: name, label: name })),
          }),
        ]),
    textField(form, {
      name: 'morePermissions',
      label: 'Further permissions',
      isCode: true,
      hint: 'Names, separated by spaces, that rules will ask for.',
    }),
  ];
}

/** What the rules of a product ask of a user; a permission is described by the scope of its name. */
function permissionsOf({ scopes, rules }: ApiProduct): { readonly name: string; readonly description: string }[] {
  const names = new Set([
    ...scopes.map(({ name }) => name),
    ...rules.map(({ scope, permission = scope }) => permission),
  ]);
  return [...names].map((name) => ({
    name,
    description: scopes.find((scope) => scope.name === name)?.description ?? 'Asked for by a rule beside its scope.',
  }));
}
