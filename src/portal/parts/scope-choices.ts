/** Scopes as people pick them: by API product, each with what it is for and what it opens. */

import type { ApiProduct } from '../../access/catalogue.ts';
import { type Html, html } from '../../http/html.ts';
import { checkboxGroup } from './choices.ts';
import type { FormState } from './form-state.ts';

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
export function ownFirst(products: readonly ApiProduct[]): ApiProduct[] {
  return products.toSorted((a, b) => Number(a.builtIn) - Number(b.builtIn));
}
