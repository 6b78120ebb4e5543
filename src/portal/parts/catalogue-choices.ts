/** Scopes and permissions as check boxes by API product. */
import type { ApiProduct } from '../../access/catalogue.ts';
import { type Html, html } from '../../http/html.ts';
import { checkboxGroup, type FormState, textField } from './fields.ts';

/** One group of boxes a product; `name` is that of the form's field. */
export function scopeChoices(form: FormState, name: string, products: readonly ApiProduct[]): Html[] {
  return ownFirst(products)
    .filter(({ scopes }) => scopes.length > 0)
    .map((product, at) =>
      checkboxGroup(form, {
        name,
        key: at === 0 ? name : `${name}-${product.id}`,
        label: product.name,
        choices: product.scopes.map((scope) => ({
          value: scope.name,
          label: scope.name,
          hint: html`${scope.description} ${opens(product, scope.name)}`,
        })),
      }),
    );
}

const SHOWN_RULES = 3;

/** The first requests that a scope opens, as `GET /shop/orders`. */
export function opens({ rules, builtIn }: Pick<ApiProduct, 'rules' | 'builtIn'>, scope: string): Html | null {
  const requests = rules
    .filter((rule) => rule.scope === scope)
    .map(({ methods, path }) => `${methods.join(', ')} ${path}`);
  // Built-in scopes without a rule are asked for by a path that checks its caller itself.
  if (requests.length === 0 && builtIn) return null;
  if (requests.length === 0) return html`<span class="quiet">No rule names it yet: it opens nothing.</span>`;
  const more = requests.length - SHOWN_RULES;
  return html`<span class="cell-hint">${requests.slice(0, SHOWN_RULES).map((request) => html`<code>${request}</code><br>`)}${more > 0 ? `and ${more} more` : null}</span>`;
}

/** The company's own APIs before those that Sallyport is. */
function ownFirst(products: readonly ApiProduct[]): ApiProduct[] {
  return products.toSorted((a, b) => Number(a.builtIn) - Number(b.builtIn));
}

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
