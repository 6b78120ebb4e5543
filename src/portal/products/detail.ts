/** `/products/{id}`: an API product with its scopes, its rules, and the applications that hold them. */

import type { Application } from '../../access/application.ts';
import type { ApiProduct } from '../../access/catalogue.ts';
import { type Html, html } from '../../http/html.ts';
import type { PageCall, View } from '../call.ts';
import { badge, stateBadge } from '../parts/badge.ts';
import { buttonRow, linkButton } from '../parts/button.ts';
import { copyable } from '../parts/code.ts';
import { definitionList } from '../parts/details.ts';
import { pageHeader, section } from '../parts/header.ts';
import { opens } from '../parts/scope-choices.ts';
import { emptyState, table } from '../parts/table.ts';
import { time } from '../parts/time.ts';

/** `holders` are the first applications that hold one of its scopes. */
export function productView(call: PageCall, product: ApiProduct, holders: readonly Application[]): View {
  const { id, name, builtIn, createdAt, updatedAt } = product;
  const isMine = call.may('administrator') && !builtIn;
  const content = html`${pageHeader({
    title: name,
    crumbs: [{ href: '/products', label: 'API products' }],
    badges: builtIn ? [builtInBadge()] : [],
    lead: builtIn ? 'Part of Sallyport. It is rewritten at every start and cannot be changed.' : undefined,
    actions: [
      linkButton({ href: '/tester', label: 'Who could call this?' }),
      isMine ? linkButton({ href: `/products/${id}/edit`, label: 'Change', icon: 'edit' }) : null,
    ],
  })}${scopeSection(product)}${ruleSection(product)}${holderSection(holders)}${section({
    title: 'The product',
    content: definitionList([
      ['Product id', copyable(id)],
      ['Added', time(createdAt)],
      ['Changed', time(updatedAt)],
    ]),
  })}${
    isMine
      ? section({
          title: 'Delete',
          lead: 'Possible only if no application holds one of its scopes.',
          content: buttonRow([
            linkButton({ href: `/products/${id}/delete`, label: 'Delete the product', icon: 'trash' }),
          ]),
        })
      : null
  }`;
  return { title: name, content };
}

export function builtInBadge(): Html {
  return badge('neutral', 'built in');
}

function scopeSection(product: ApiProduct): Html {
  return section({
    title: 'Scopes',
    isPlain: true,
    content: table({
      caption: 'Scopes',
      columns: [
        { label: 'Scope', kind: 'main' },
        { label: 'What it allows' },
        { label: 'Opens' },
        { label: 'Held by' },
      ],
      rows: product.scopes.map(({ name, description }) => [
        html`<code>${name}</code>`,
        description,
        opens(product, name),
        html`<a href="/applications?scope=${encodeURIComponent(name)}" class="plain-link">applications with it</a>`,
      ]),
      empty: emptyState({
        title: 'No scopes',
        text: 'Without scopes, applications cannot use it.',
      }),
    }),
  });
}

function ruleSection({ rules }: ApiProduct): Html {
  return section({
    title: 'Rules',
    lead: 'Which request needs which scope. A request that no rule matches is refused.',
    isPlain: true,
    content: table({
      caption: 'Rules',
      columns: [
        { label: 'Path', kind: 'main' },
        { label: 'Methods' },
        { label: 'Scope' },
        { label: 'Permission of the user' },
      ],
      rows: rules.map(({ methods, path, scope, permission }) => [
        html`<code>${path}</code>`,
        methods.join(', '),
        html`<code>${scope}</code>`,
        permission === undefined ? html`<span class="quiet">as the scope</span>` : html`<code>${permission}</code>`,
      ]),
      empty: emptyState({ title: 'No rules', text: 'Its scopes allow nothing, because no rule matches any request.' }),
    }),
  });
}

function holderSection(holders: readonly Application[]): Html {
  return section({
    title: 'Applications',
    lead: 'The first applications that hold one of its scopes.',
    isPlain: true,
    content: table({
      caption: 'Applications that hold a scope of it',
      columns: [{ label: 'Application', kind: 'main' }, { label: 'State' }],
      rows: holders.map(({ id, name, active }) => [
        html`<a href="/applications/${id}">${name}</a>`,
        stateBadge(active ? 'active' : 'inactive'),
      ]),
      empty: emptyState({
        title: 'Nobody holds one',
        text: 'Choose scopes when you register or change an application.',
      }),
    }),
  });
}
