/** The section *Scopes* of an application: what each allows, and whether its account has the permission. Many are folded in parts. */
import type { Application } from '../../domain/application.ts';
import type { ApiProduct } from '../../domain/catalogue.ts';
import type { User } from '../../domain/user.ts';
import { type Html, html } from '../../http/html.ts';
import type { PageCall } from '../frame/call.ts';
import { type ApiCall, callLinks } from '../parts/api-calls.ts';
import { areasOf, SCOPES_AT_A_GLANCE } from '../parts/catalogue-areas.ts';
import { opens } from '../parts/catalogue-choices.ts';
import { linkButton, section } from '../parts/header.ts';
import { emptyState, folded, table } from '../parts/list.ts';
import { badge } from '../parts/mark.ts';
import { countOf } from '../parts/text.ts';

type Held = {
  readonly scope: string;
  /** Null for a scope of a product that is gone. */
  readonly product: ApiProduct | null;
  /** The permissions that its account lacks. */
  readonly lacks: readonly string[];
};

type Catalogue = {
  readonly products: readonly ApiProduct[];
  /** The calls that the scopes open, in a customer's portal. */
  readonly calls: readonly ApiCall[];
};

type Shown = { readonly hasProducts: boolean; readonly calls: readonly ApiCall[] };

export function scopeSection(
  call: PageCall,
  { id, scopes }: Application,
  user: User | null,
  { products, calls }: Catalogue,
): Html {
  const may = new Set(user?.permissions ?? []);
  const held = scopes.map((scope): Held => {
    const product = products.find((one) => one.scopes.some(({ name }) => name === scope)) ?? null;
    return { scope, product, lacks: product === null ? [] : lackingOf(product, scope, may) };
  });
  const hasProducts = call.session.customerId === null;
  const empty = emptyState({
    title: 'No scopes',
    text: 'Without a scope the program can do nothing.',
    action: call.may('administrator') ? linkButton({ href: `/applications/${id}/edit`, label: 'Choose scopes' }) : null,
  });
  return section({
    title: 'Scopes',
    lead: 'What the program may do, and whether the account that it acts as has the permission for it.',
    isPlain: true,
    content:
      scopes.length <= SCOPES_AT_A_GLANCE
        ? scopeTable('Scopes of the application', held, { hasProducts, calls }, empty)
        : folds(held, products, { hasProducts, calls }),
  });
}

/** The permissions that the rules of a scope require, and that an account with these does not have. */
export function lackingOf(
  { rules }: Pick<ApiProduct, 'rules'>,
  scope: string,
  permissions: ReadonlySet<string>,
): readonly string[] {
  const needed = rules.filter((rule) => rule.scope === scope).map(({ permission = scope }) => permission);
  return [...new Set(needed)].filter((name) => !permissions.has(name));
}

/** A part in which a permission is missing is unfolded. */
function folds(held: readonly Held[], products: readonly ApiProduct[], around: Shown): Html {
  const parts = products.flatMap((product) =>
    areasOf(product).map(({ title, scopes }) => ({
      title: title ?? product.name,
      own: scopes.flatMap(({ name }) => held.filter((one) => one.scope === name)),
    })),
  );
  const others = { title: 'Others', own: held.filter(({ product }) => product === null) };
  const made = [...parts, others].map(({ title, own }) => {
    if (own.length === 0) return null;
    const missing = own.filter(({ lacks }) => lacks.length > 0).length;
    const note = `${own.length - missing} of ${countOf(own.length, 'scope')} permitted`;
    return folded({
      title,
      note,
      isOpen: missing > 0,
      content: scopeTable(`Scopes of the application: ${title}`, own, around),
    });
  });
  const permitted = held.filter(({ lacks }) => lacks.length === 0).length;
  return html`
    <p>${permitted} of ${countOf(held.length, 'scope')} permitted.</p>
    <div class="folds">${made}</div>
  `;
}

function scopeTable(caption: string, held: readonly Held[], { hasProducts, calls }: Shown, empty = html``): Html {
  const rows = held.map(({ scope, product, lacks }) => [
    html`
      <code>${scope}</code>
      <span class="cell-hint">${product?.scopes.find(({ name }) => name === scope)?.description ?? ''}</span>
    `,
    ...(hasProducts
      ? [product === null ? null : html`<a href="/products/${product.id}" class="plain-link">${product.name}</a>`]
      : []),
    callLinks(calls, scope) ??
      (product === null ? null : opens(product, scope, { isFolding: true, isFolded: product.builtIn })),
    lacks.length === 0
      ? badge('positive', 'granted', 'check')
      : html`${badge('caution', 'missing')} <span class="cell-hint">${lacks.join(', ')}</span>`,
  ]);
  return table({
    caption,
    columns: [
      { label: 'Scope', kind: 'main' },
      ...(hasProducts ? [{ label: 'API product', phone: 'plain' as const }] : []),
      { label: 'Allows', phone: 'plain' },
      { label: 'Permission', phone: 'named' },
    ],
    rows,
    empty,
  });
}
