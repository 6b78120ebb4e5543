/** `/customers/{id}`: how one customer is doing, and what it has. */

import { type CustomerUsageView, readUsagePeriod } from '../../customers/usage.ts';
import type { Customer } from '../../domain/customer.ts';
import type { Delivery } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import type { Series } from '../../observe/figures.ts';
import type { AuditRecord } from '../../store/port/audit.ts';
import type { Belongings } from '../../store/port/customers.ts';
import type { Ailing, Backlog, DeadLetters } from '../../store/port/overview.ts';
import {
  actorName,
  actorsSeen,
  entrySentence,
  namedByEntry,
  type ResourceLink,
  readResourceLinks,
} from '../audit/entries.ts';
import { progressOf } from '../deliveries/delivery-rows.ts';
import { readEndpointActivity } from '../endpoints/endpoint-activity.ts';
import { endpointBadges } from '../endpoints/endpoint-detail.ts';
import type { PageCall, View } from '../frame/call.ts';
import type { PageDependencies } from '../frame/page.ts';
import { attentionSection, readAttention } from '../overview/attention.ts';
import { copyable, definitionList, figures } from '../parts/details.ts';
import { actionButton, linkButton, pageHeader, section } from '../parts/header.ts';
import { figureTone } from '../parts/health.ts';
import { QUEUES_SHOWN } from '../parts/limits.ts';
import { table } from '../parts/list.ts';
import { notice, stateBadge } from '../parts/mark.ts';
import { pageLinks } from '../parts/page-links.ts';
import { removalSection } from '../parts/removal.ts';
import { roleText } from '../parts/role-texts.ts';
import { breakable, countOf, countText, exactTime, relativeTime, shareText, time } from '../parts/text.ts';
import { userBadge } from '../users/user-state.ts';
import { heldByBelongings, suspensionSection } from './customer-removal.ts';
import { usageSection } from './usage-pages.ts';

/** Rows of each table on the page. The lists have the rest. */
const SHOWN = 5;

type Item = {
  readonly href: string;
  readonly name: string;
  readonly state: Html;
  readonly note: string | Html;
};
type Group = { readonly kind: keyof Belongings; readonly title: string; readonly items: readonly Item[] };

type CustomerPage = {
  readonly customer: Customer;
  readonly counts: Belongings;
  readonly groups: readonly Group[];
  readonly series: Series;
  readonly backlog: Backlog;
  readonly dead: DeadLetters;
  readonly attention: Awaited<ReturnType<typeof readAttention>>;
  readonly deliveries: readonly Delivery[];
  readonly usage: CustomerUsageView;
  readonly audit: readonly AuditRecord[];
  readonly linkOf: (reference: string) => ResourceLink;
};

/** Reads the page over the customer's part of the service, which has nothing of others. */
export async function readCustomerPage(
  { ofCustomer, store: all, clock, hasPage }: PageDependencies,
  customer: Customer,
): Promise<CustomerPage> {
  const { id } = customer;
  const { store, figures: kept, services } = ofCustomer(id);
  const [counts, groups, series, backlog, dead, attention, deliveries, audit, usage] = await Promise.all([
    all.customers.belongings([id]),
    readGroups({ store, figures: kept, clock }),
    kept.series('day', 0),
    store.overview.backlog(id, QUEUES_SHOWN),
    store.overview.dead(id),
    readAttention(store, clock()),
    services.deliveries.list({}, null, SHOWN),
    all.audit.list(null, SHOWN, { customerId: id, kind: 'changes' }),
    services.usage.ofCustomer(id, readUsagePeriod(new URLSearchParams(), clock())),
  ]);
  const linkOf = await readResourceLinks(
    all,
    audit.flatMap(({ actor, target }) => [actor, target]),
    hasPage,
  );
  const none = { users: 0, applications: 0, endpoints: 0, keys: 0, webhooks: 0 };
  return {
    customer,
    groups,
    series,
    backlog,
    dead,
    attention,
    audit,
    linkOf,
    usage,
    counts: counts.get(id) ?? none,
    deliveries: deliveries.items,
  };
}

async function readGroups(reads: Parameters<typeof readEndpointActivity>[0]): Promise<Group[]> {
  const { store, clock } = reads;
  const now = clock();
  const [endpoints, webhooks, applications, users, keys] = await Promise.all([
    store.directory.endpoints({}, null, SHOWN),
    store.directory.webhooks({}, null, SHOWN),
    store.registry.applications({}, null, SHOWN),
    store.registry.users({}, null, SHOWN),
    store.keys.list('', SHOWN),
  ]);
  const ids = endpoints.map(({ id }) => id);
  const activityOf = await readEndpointActivity(reads, ids);
  return [
    {
      kind: 'endpoints',
      title: 'Endpoints',
      items: endpoints.map((endpoint) => ({
        href: `/endpoints/${endpoint.id}`,
        name: endpoint.name,
        note: html`<span title="${endpoint.url}">${breakable(endpoint.url.replace('https://', ''))}</span>`,
        state: html`<span class="badges">${endpointBadges(endpoint, activityOf(endpoint.id).webhooks)}</span>`,
      })),
    },
    {
      kind: 'webhooks',
      title: 'Webhooks',
      items: webhooks.map(({ webhook: { id, name, progress }, endpointName }) => ({
        href: `/webhooks/${id}`,
        name,
        state: stateBadge(progress.state),
        note: endpointName === null ? 'read by its reader (pull)' : `to ${endpointName}`,
      })),
    },
    {
      kind: 'applications',
      title: 'Applications',
      items: applications.map(({ application: { id, name, active, scopes } }) => ({
        href: `/applications/${id}`,
        name,
        state: stateBadge(active ? 'active' : 'inactive'),
        note: countOf(scopes.length, 'scope'),
      })),
    },
    {
      kind: 'users',
      title: 'Users',
      items: users.map(({ user }) => ({
        href: `/users/${user.id}`,
        name: user.userName,
        state: userBadge(user),
        note: user.role === 'service' ? 'service account' : roleText(user.role, true).label,
      })),
    },
    {
      kind: 'keys',
      title: 'PGP keys',
      items: keys.map(({ id, name, algorithm, expiresAt }) => ({
        href: `/keys/${id}`,
        name,
        note: algorithm,
        state: stateBadge(expiresAt !== null && expiresAt <= now ? 'expired' : 'valid'),
      })),
    },
  ];
}

export function customerView(call: PageCall, page: CustomerPage): View {
  const { customer, groups, counts } = page;
  const { id, name, externalId, active } = customer;
  const manages = call.may('administrator');
  const startButton = call.may('operator') ? startButtonOf(call, id) : null;
  const problems = attentionSection({ ...page.attention, startButton, now: call.now });
  const hasProblems = page.attention.ailing.length + page.attention.expiring.length > 0;
  const content = html`
    ${pageHeader({
      title: name,
      crumbs: [{ href: '/customers', label: 'Customers' }],
      badges: [stateBadge(active ? 'active' : 'suspended')],
      lead: externalId === null ? undefined : html`<code>${externalId}</code>`,
      actions: manages ? actions(call, customer) : [],
    })}
    ${pageLinks([
      { id: 'deliveries', label: 'Recent deliveries' },
      ...groups.map(({ kind, title }) => ({ id: kind, label: title })),
      { id: 'usage', label: 'Usage' },
      { id: 'audit', label: 'Audit log' },
    ])}
    ${active ? null : SUSPENDED}
    ${hasProblems ? html`${problems}${health(page)}` : html`${health(page)}${problems}`}
    ${deliverySection(call, id, page.deliveries)}
    <div class="columns">
      ${groups.map((group) => groupSection(call, id, group, counts[group.kind]))}
    </div>
    ${usageSection(page.usage, `/customers/${id}/usage`)}
    ${auditSection(call, id, page)}
    ${account(customer)}
    ${manages && active ? suspensionSection(customer) : null}
    ${manages ? removal(customer, counts) : null}
  `;
  return { title: name, content };
}

/** Leads back to the customer. */
function startButtonOf({ csrf }: PageCall, customerId: string): (webhook: Ailing) => Html {
  return ({ id, name }) =>
    actionButton({
      action: `/webhooks/${id}/start`,
      csrf,
      fields: { back: `/customers/${customerId}` },
      label: 'Start',
      longLabel: `Start the webhook ${name}`,
      icon: 'play',
    });
}

const SUSPENDED = notice({
  tone: 'caution',
  title: 'This customer is suspended.',
  text: 'Its webhooks are stopped and their pending deliveries are kept. Its applications, users and portal links have no access.',
});

function actions({ csrf }: PageCall, { id, name, active }: Customer): (Html | null)[] {
  const path = `/customers/${id}`;
  if (!active) {
    return [
      linkButton({ href: `${path}/edit`, label: 'Change', icon: 'edit' }),
      actionButton({
        action: `${path}/activate`,
        csrf,
        label: 'Activate',
        longLabel: `Activate the customer ${name}`,
        kind: 'primary',
        icon: 'play',
      }),
    ];
  }
  return [
    actionButton({
      action: `${path}/open`,
      csrf,
      id: 'open-button',
      label: 'Open as this customer',
      longLabel: `Open as this customer: ${name}`,
      icon: 'leave',
    }),
    linkButton({ href: `${path}/edit`, label: 'Change', icon: 'edit' }),
    linkButton({ href: `${path}/portal-link`, label: 'Create a portal link', kind: 'primary', icon: 'send' }),
  ];
}

function health({ customer: { id }, series, backlog, dead }: CustomerPage): Html {
  const { delivered, attempts, failedAttempts, successRate } = series.total;
  return figures([
    { label: 'Delivered', value: countText(delivered), hint: 'in the last 24 hours' },
    {
      label: 'Success rate',
      value: successRate === null ? '–' : shareText(successRate),
      tone: figureTone(successRate),
      hint: attempts === 0 ? 'no attempts yet' : `${countText(failedAttempts)} of ${countText(attempts)} failed`,
    },
    {
      label: 'Pending',
      value: countText(backlog.records),
      href: `/deliveries?customer=${id}&state=pending`,
      hint: `at ${countOf(backlog.webhooks, 'webhook')}`,
    },
    {
      label: 'Dead',
      value: `${countText(dead.records)}${dead.more ? '+' : ''}`,
      href: `/deliveries?customer=${id}&state=dead`,
      tone: dead.records > 0 ? 'negative' : 'neutral',
      hint: dead.records > 0 ? 'kept until resent' : 'nothing given up',
    },
  ]);
}

const ADD: Readonly<Record<keyof Belongings, string>> = {
  endpoints: 'New endpoint',
  webhooks: 'New webhook',
  applications: 'Register an application',
  users: 'Add a user',
  keys: 'Import a key',
};

function groupSection(call: PageCall, id: string, { kind, title, items }: Group, count: number): Html {
  const all = `/${kind}?customer=${id}`;
  return section({
    title,
    id: kind,
    isPlain: true,
    actions: [
      count > items.length
        ? linkButton({ href: all, label: `All ${countText(count)}`, longLabel: `All ${countText(count)} ${kind}` })
        : null,
      call.may('administrator')
        ? linkButton({ href: `/${kind}/new?customer=${id}`, label: ADD[kind], kind: 'quiet', icon: 'plus' })
        : null,
    ],
    content: table({
      caption: title,
      columns: [
        { label: 'Name', kind: 'main' },
        { label: 'State', phone: 'state' },
      ],
      rows: items.map(({ href, name, state, note }) => [
        html`<a href="${href}">${name}</a><span class="cell-hint">${note}</span>`,
        state,
      ]),
      empty: html`<p class="quiet">None yet.</p>`,
    }),
  });
}

function account({ id, metadata, createdAt, updatedAt }: Customer): Html {
  return section({
    title: 'The customer',
    content: definitionList([
      ['Customer id', copyable(id)],
      ...Object.entries(metadata).map(([name, value]) => [`Metadata: ${name}`, value] as const),
      ['Added', time(createdAt)],
      ['Changed', time(updatedAt)],
    ]),
  });
}

function deliverySection({ now, may }: PageCall, id: string, deliveries: readonly Delivery[]): Html {
  return section({
    title: 'Recent deliveries',
    id: 'deliveries',
    isPlain: true,
    actions: [
      may('operator')
        ? linkButton({ href: `/publish?customer=${id}`, label: 'Publish an event', icon: 'send', kind: 'quiet' })
        : null,
      linkButton({ href: `/deliveries?customer=${id}`, label: 'All deliveries' }),
    ],
    content: table({
      caption: 'Recent deliveries',
      columns: [
        { label: 'Event', kind: 'main' },
        { label: 'Webhook', phone: 'plain' },
        { label: 'State', phone: 'state' },
        { label: 'Published', phone: 'named' },
      ],
      rows: deliveries.map((delivery) => [
        html`<a href="/deliveries/${delivery.id}">${delivery.eventType}</a>`,
        html`<a class="plain-link" href="/webhooks/${delivery.webhookId}">${delivery.webhookName}</a>`,
        html`
          ${stateBadge(delivery.state)}
          ${delivery.state === 'pending' ? html` <span class="cell-hint">${progressOf(delivery, now)}</span>` : null}
        `,
        relativeTime(delivery.createdAt, now),
      ]),
      empty: html`<p class="quiet">None yet.</p>`,
    }),
  });
}

function auditSection({ now }: PageCall, id: string, { audit, linkOf }: CustomerPage): Html {
  const actorOf = actorsSeen({ customerId: null }, linkOf, null);
  return section({
    title: 'Audit log',
    id: 'audit',
    isPlain: true,
    actions: [linkButton({ href: `/audit?customer=${id}&show=all`, label: 'All entries' })],
    content: html`<div class="audit-list">${table({
      caption: 'Audit log',
      columns: [
        { label: 'When', phone: 'plain' },
        { label: 'What happened', kind: 'main' },
      ],
      rows: audit.map((entry) => {
        const who = html`<span class="audit-who">${actorName(actorOf(entry.actor))}</span>`;
        const what = namedByEntry(entry, linkOf(entry.target));
        return [
          exactTime(entry.at, now),
          html`<span class="audit-entry">${entrySentence(entry, { who, what, isCustomers: false })}</span>`,
        ];
      }),
      empty: html`<p class="quiet">None yet.</p>`,
    })}</div>`,
  });
}

function removal({ id, active }: Customer, counts: Belongings): Html {
  return removalSection({
    path: `/customers/${id}`,
    noun: 'customer',
    text: 'Its portal links and sessions are deleted too.',
    held: heldByBelongings(counts, active),
  });
}
