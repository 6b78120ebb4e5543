/** Scopes and permissions as check boxes by API product. */
import type { ApiProduct } from '../../domain/catalogue.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { areasOf, SCOPES_AT_A_GLANCE } from './catalogue-areas.ts';
import { type Choice, checkboxGroup, type FormState, textField } from './fields.ts';
import { breakable, countOf } from './text.ts';

/**
 * Folded groups of boxes, one for each product or part of it. `name` is the name of the form's field. `noteOf`: a note below the scope.
 */
export function scopeChoices(
  form: FormState,
  name: string,
  products: readonly ApiProduct[],
  noteOf: (product: ApiProduct, scope: string) => Html | null = () => null,
): Html[] {
  const groups = ownFirst(products).flatMap((product) =>
    areasOf(product).map(({ title, scopes }) => ({
      product,
      title,
      choices: scopes.map((scope) => ({
        value: scope.name,
        label: scope.name,
        hint: html`${scope.description} ${product.builtIn ? null : opens(product, scope.name)} ${noteOf(product, scope.name)}`,
      })),
    })),
  );
  return foldsOf(form, name, groups, true);
}

type ChoiceGroup = {
  readonly product: ApiProduct;
  /** Of a part of the product; null for all of it. */
  readonly title: string | null;
  readonly choices: readonly Choice[];
};

/**
 * The line that unfolds a group says how many are chosen, and which: the script keeps it up to date. A group with a chosen box is
 * unfolded, and the first one if it has the problem of the field. `isOffered`:
 * also if it is short and the company's own, and nothing is chosen yet. All are unfolded then if they
 * are of one product, which needs no name above them.
 */
function foldsOf(form: FormState, name: string, all: readonly ChoiceGroup[], isOffered: boolean): Html[] {
  const groups = all.filter(({ choices }) => choices.length > 0);
  const isOneProduct = groups.every(({ product }) => product === groups[0]?.product);
  const chosen = new Set(form.values(name));
  return groups.map(({ product, title, choices }, at) => {
    // Not `-1`: the boxes of the first group are numbered so.
    const key = at === 0 ? name : `${name}-group-${at}`;
    const label = title === null ? product.name : product.builtIn ? title : `${product.name}: ${title}`;
    const isOnly = groups.length === 1;
    const before = groups[at - 1];
    const hasParts = title !== null || (before?.title ?? null) !== null;
    const isFirstPart = hasParts && product.builtIn && !isOneProduct && before?.product !== product;
    const boxes = checkboxGroup(form, { name, key, choices, label, isLabelHidden: !isOnly, problemLabel: name });
    // A fold of its own for the only group would say its name twice.
    if (isOnly) return boxes;
    const isShort = isOffered && chosen.size === 0 && choices.length <= SCOPES_AT_A_GLANCE;
    const isFirst = at === 0 && (form.problem(name) !== null || (isShort && !product.builtIn));
    const values = choices.map(({ value }) => value).filter((value) => chosen.has(value));
    const open = values.length > 0 || isFirst || (isShort && isOneProduct);
    return html`
      ${isFirstPart ? html`<p class="choice-product">${product.name} <span class="optional">built in</span></p>` : null}
      <details class="more-fields choice-fold" data-choice-fold${attributes({ open })}>
        <summary>
          <span class="choice-fold-title">${label}</span>
          ${' '}
          <span class="choice-count" data-choice-count="${values.length}">${countChosen(values.length, choices.length)}</span>
          ${' '}
          <span class="choice-names" data-choice-names>${values.join(', ')}</span>
        </summary>
        <div class="fields">${boxes}</div>
      </details>
    `;
  });
}

/** The script has the same rule (`assets/choices.js`). */
function countChosen(chosen: number, of: number): string {
  return `${chosen === 0 ? 'none' : chosen} of ${of} chosen`;
}

const SHOWN_RULES = 3;

type Opening = {
  /** At the beginning of a path it is shown as `…`. */
  readonly base?: string | null;
  /** The rest can be unfolded: not within a paragraph. */
  readonly isFolding?: boolean;
  /** All of them are folded, behind their number. */
  readonly isFolded?: boolean;
};

/** The first requests that a scope opens, as `GET /shop/orders`. */
export function opens(
  { rules, builtIn }: Pick<ApiProduct, 'rules' | 'builtIn'>,
  scope: string,
  { base = null, isFolding = false, isFolded = false }: Opening = {},
): Html | null {
  const shown = (path: string): string =>
    base !== null && path.startsWith(`${base}/`) ? `…${path.slice(base.length)}` : path;
  const requests = rules
    .filter((rule) => rule.scope === scope)
    .map(({ methods, path }) => html`<code>${methods.join(', ')} ${breakable(shown(path))}</code><br>`);
  // Paths that check their caller themselves require built-in scopes without a rule.
  if (requests.length === 0 && builtIn) return null;
  if (requests.length === 0) return html`<span class="quiet">No rule uses it yet.</span>`;
  if (isFolded)
    return html`
      <details class="requests-more">
        <summary>${countOf(requests.length, 'call')}</summary>
        <span class="cell-hint is-sentence requests">${requests}</span>
      </details>
    `;
  const more = requests.length - SHOWN_RULES;
  const first = html`
    <span class="cell-hint is-sentence requests">
      ${requests.slice(0, SHOWN_RULES)}
      ${more > 0 && !isFolding ? `and ${more} more` : null}
    </span>
  `;
  if (more <= 0 || !isFolding) return first;
  return html`
    ${first}
    <details class="requests-more">
      <summary>and ${more} more</summary>
      <span class="cell-hint is-sentence requests">${requests.slice(SHOWN_RULES)}</span>
    </details>
  `;
}

/** A base path shorter than this, or of fewer rules, is not worth a sign of its own. */
const BASE_SEGMENTS_MIN = 2;
const BASE_RULES_MIN = 3;

/** The longest beginning of whole segments, without a parameter, that most paths of a product have; null: none is long enough. */
export function basePath(rules: readonly { readonly path: string }[]): string | null {
  const counts = new Map<string, number>();
  for (const { path } of rules) {
    const segments = path.split('/');
    for (let end = BASE_SEGMENTS_MIN + 1; end < segments.length; end += 1) {
      if (segments[end - 1]?.startsWith('{') === true) break;
      const base = segments.slice(0, end).join('/');
      counts.set(base, (counts.get(base) ?? 0) + 1);
    }
  }
  const common = [...counts].filter(([, count]) => count >= BASE_RULES_MIN && count > rules.length / 2);
  return common.toSorted(([a], [b]) => b.length - a.length)[0]?.[0] ?? null;
}

/** The company's own APIs before the built-in ones. */
function ownFirst(products: readonly ApiProduct[]): ApiProduct[] {
  return products.toSorted((a, b) => Number(a.builtIn) - Number(b.builtIn));
}

/**
 * Boxes by product, and a field for permissions that no rule requires now, for example those of a deleted product. `isOfCustomer`: without
 * the field for permissions of rules to come, which the operator makes.
 */
export function permissionChoices(form: FormState, products: readonly ApiProduct[], isOfCustomer: boolean): Html[] {
  const groups = ownFirst(products).flatMap((product) => {
    const permissions = permissionsOf(product);
    return areasOf({ ...product, scopes: permissions }).map(({ title, scopes }) => ({
      product,
      title,
      choices: scopes.map(({ name, description }) => ({ value: name, label: name, hint: description })),
    }));
  });
  const known = new Set(groups.flatMap(({ choices }) => choices.map(({ value }) => value)));
  const others = form.values('permissions').filter((name) => !known.has(name));
  return [
    // Most users are people, who need none.
    ...foldsOf(form, 'permissions', groups, false),
    ...(others.length === 0
      ? []
      : [
          checkboxGroup(form, {
            name: 'permissions',
            key: 'permissions-others',
            label: 'Other permissions of the user',
            hint: 'No rule requires them now.',
            choices: others.map((name) => ({ value: name, label: name })),
          }),
        ]),
    ...(isOfCustomer
      ? []
      : [
          textField(form, {
            name: 'morePermissions',
            label: 'Further permissions',
            isCode: true,
            hint: 'Names that future rules will require, separated by spaces.',
          }),
        ]),
  ];
}

/** The permissions that the rules of a product require. The scope with the same name describes a permission. */
function permissionsOf({ scopes, rules }: ApiProduct): { readonly name: string; readonly description: string }[] {
  const names = new Set([
    ...scopes.map(({ name }) => name),
    ...rules.map(({ scope, permission = scope }) => permission),
  ]);
  return [...names].map((name) => ({
    name,
    description:
      scopes.find((scope) => scope.name === name)?.description ?? 'Required by a rule in addition to its scope.',
  }));
}
