/** `/products/{id}`: an API product with its scopes and rules. Those of a large product are folded in parts, and can be searched. */
import type { Application } from '../../domain/application.ts';
import type { ApiProduct } from '../../domain/catalogue.ts';
import { DEPENDENTS_NAMED } from '../../domain/limits.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import type { PageCall, View } from '../frame/call.ts';
import { readText } from '../frame/query.ts';
import { areasOf } from '../parts/catalogue-areas.ts';
import { basePath, opens } from '../parts/catalogue-choices.ts';
import { copyable, definitionList } from '../parts/details.ts';
import { newForm, textField } from '../parts/fields.ts';
import { linkButton, type PageHeader, pageHeader, section } from '../parts/header.ts';
import { emptyState, folded, listView, nothingFound, table } from '../parts/list.ts';
import { badge, stateBadge } from '../parts/mark.ts';
import { type HeldRecord, removalSection } from '../parts/removal.ts';
import { breakable, countOf, time } from '../parts/text.ts';
import type { ownerNames } from '../record/owner.ts';

/** The first applications that hold one of the scopes of a product. */
type Holders = {
  readonly holders: readonly Application[];
  readonly ownerIn: Awaited<ReturnType<typeof ownerNames>>;
};

export function productPage(call: PageCall, product: ApiProduct, held: Holders): View {
  const { id, name, builtIn, createdAt, updatedAt } = product;
  const isMine = call.may('administrator') && !builtIn;
  const header: PageHeader = {
    title: name,
    crumbs: [{ href: '/products', label: 'API products' }],
    badges: builtIn ? [badge('neutral', 'built in')] : [],
    lead: builtIn ? 'Part of Sallyport. It cannot be changed.' : undefined,
    actions: [
      linkButton({ href: '/tester', label: 'Who could call this?' }),
      isMine ? linkButton({ href: `/products/${id}/edit`, label: 'Change', icon: 'edit' }) : null,
    ],
  };
  const about = section({
    title: 'The product',
    content: definitionList([
      ['Product id', copyable(id)],
      ['Added', time(createdAt)],
      ['Changed', time(updatedAt)],
    ]),
  });
  const removal = removalSection({
    path: `/products/${id}`,
    noun: 'product',
    text: 'Requests that need its scopes are refused immediately.',
    held: heldByScopes(held.holders),
  });
  const rest = html`${holderSection(product, held)}${about}${isMine ? removal : null}`;
  if (areasOf(product).length > 1) {
    const list = largeProduct(call, product, held, header);
    return { ...list, content: html`${list.content}${rest}` };
  }
  return {
    title: name,
    content: html`${pageHeader(header)}${scopeSection(product, held)}${ruleSection(product)}${rest}`,
  };
}

/** Why the product cannot be deleted: the applications hold one of its scopes. Null for none. */
export function heldByScopes(holders: readonly Application[]): HeldRecord | null {
  if (holders.length === 0) return null;
  const names = holders.map(
    ({ id, name }, at) => html`${at === 0 ? '' : ', '}<a href="/applications/${id}">${name}</a>`,
  );
  return {
    title: 'This product cannot be deleted while applications hold its scopes.',
    text: html`First remove these scopes from ${names}.`,
  };
}

/** In parts, with a filter. */
function largeProduct({ query }: PageCall, product: ApiProduct, held: Holders, header: PageHeader) {
  const path = `/products/${product.id}`;
  const text = readText(query, 'q');
  const shown = text === null ? product : matching(product, text.toLowerCase());
  const base = basePath(product.rules);
  const areas = areasOf(product).flatMap(({ title, scopes }, at) => {
    const names = new Set(scopes.map((scope) => scope.name));
    const own = shown.scopes.filter((scope) => names.has(scope.name));
    const rules = shown.rules.filter(({ scope }) => names.has(scope));
    if (own.length === 0) return [];
    const part = title ?? product.name;
    const scopeRows = scopeTable({ ...shown, scopes: own }, { base, held, caption: `Scopes: ${part}` });
    return folded({
      title: part,
      note: `${countOf(own.length, 'scope')}, ${countOf(rules.length, 'rule')}`,
      isOpen: text !== null || at === 0,
      content: html`${scopeRows}${rules.length === 0 ? null : ruleList(rules, part, text !== null)}`,
    });
  });
  return listView({
    ...header,
    path,
    query,
    lead: base === null ? header.lead : html`${header.lead ?? ''} In the requests, “…” is <code>${base}</code>.`,
    filters: [
      textField(newForm({ q: text }), {
        name: 'q',
        label: 'Scope, path or method',
        type: 'search',
        placeholder: 'webhooks, replay, POST',
      }),
    ],
    layout: 'stack',
    results: areas.length === 0 ? nothingFound(path, 'scopes and rules') : html`<div class="folds">${areas}</div>`,
  });
}

/** The requests of the scopes above, by path. A filter may have found one of them. */
function ruleList(rules: ApiProduct['rules'], part: string, isOpen: boolean): Html {
  return html`
    <details class="rule-list"${attributes({ open: isOpen })}>
      <summary>${countOf(rules.length, 'rule')} by path</summary>
      ${ruleTable(rules, `Rules: ${part}`)}
    </details>
  `;
}

/** The scopes and the rules with the text, and the scopes of these rules. */
function matching(product: ApiProduct, wanted: string): ApiProduct {
  const has = (...texts: readonly (string | undefined)[]): boolean =>
    texts.some((text) => text?.toLowerCase().includes(wanted));
  const rules = product.rules.filter(({ methods, path, scope, permission }) =>
    has(...methods, path, scope, permission),
  );
  const scopes = product.scopes.filter(
    ({ name, description }) => has(name, description) || rules.some(({ scope }) => scope === name),
  );
  return { ...product, scopes, rules };
}

function scopeSection(product: ApiProduct, held: Holders): Html {
  const base = basePath(product.rules);
  return section({
    title: 'Scopes',
    lead: base === null ? undefined : html`<p>In the requests, “…” is <code>${base}</code>.</p>`,
    isPlain: true,
    content: scopeTable(product, { base, held, caption: 'Scopes' }),
  });
}

type ScopeTable = { readonly base: string | null; readonly held: Holders; readonly caption: string };

function scopeTable(product: ApiProduct, { base, held: { holders }, caption }: ScopeTable): Html {
  return table({
    caption,
    columns: [
      { label: 'Scope', kind: 'main' },
      { label: 'Requests', phone: 'plain' },
      { label: 'Applications', phone: 'plain' },
    ],
    rows: product.scopes.map(({ name, description, offered }) => [
      html`
        <code>${name}</code>
        ${offered === true ? html` ${badge('info', 'offered to customers', 'customer')}` : null}
        <span class="cell-hint">${description}</span>
      `,
      opens(product, name, { base, isFolding: true }),
      holderCount(name, holders),
    ]),
    empty: emptyState({
      title: 'No scopes',
      text: 'Applications cannot use a product without scopes.',
    }),
  });
}

/** The number of applications with a scope, if all of the product are known. */
function holderCount(scope: string, holders: readonly Application[]): Html {
  const count = holders.filter(({ scopes }) => scopes.includes(scope)).length;
  const isWhole = holders.length < DEPENDENTS_NAMED;
  if (isWhole && count === 0) return html`<span class="quiet">none</span>`;
  const label = isWhole ? countOf(count, 'application') : 'show';
  return html`
    <a class="one-line" href="/applications?scope=${encodeURIComponent(scope)}" aria-label="${label}, with ${scope}"
    >${label}</a>
  `;
}

function ruleSection({ rules }: ApiProduct): Html {
  return section({
    title: 'Rules',
    lead: 'Which request needs which scope. A request that no rule matches is refused.',
    isPlain: true,
    content: ruleTable(rules, 'Rules'),
  });
}

function ruleTable(rules: ApiProduct['rules'], caption: string): Html {
  return table({
    caption,
    columns: [
      { label: 'Path', kind: 'main' },
      { label: 'Methods', phone: 'state' },
      { label: 'Scope', phone: 'plain' },
      { label: 'Permission', phone: 'named' },
    ],
    rows: rules.map(({ methods, path, scope, permission }) => [
      html`<code>${breakable(path)}</code>`,
      methods.join(', '),
      html`<code>${scope}</code>`,
      permission === undefined ? html`<span class="quiet">same as the scope</span>` : html`<code>${permission}</code>`,
    ]),
    empty: emptyState({ title: 'No rules', text: 'Without rules its scopes allow nothing.' }),
  });
}

function holderSection(product: ApiProduct, { holders, ownerIn }: Holders): Html {
  const names = new Set(product.scopes.map(({ name }) => name));
  return section({
    title: 'Applications with its scopes',
    lead: holders.length < DEPENDENTS_NAMED ? undefined : `The first ${DEPENDENTS_NAMED}.`,
    isPlain: true,
    content: table({
      caption: 'Applications with its scopes',
      columns: [
        { label: 'Application', kind: 'main' },
        { label: 'Its scopes', kind: 'number', phone: 'named' },
        { label: 'State', phone: 'state' },
      ],
      rows: holders.map(({ id, name, active, customerId, scopes }) => [
        html`<a href="/applications/${id}">${name}</a> ${ownerIn(customerId)}`,
        scopes.filter((scope) => names.has(scope)).length,
        stateBadge(active ? 'active' : 'inactive'),
      ]),
      empty: emptyState({
        title: 'No application yet',
        text: 'Choose scopes when you register or change an application.',
      }),
    }),
  });
}
