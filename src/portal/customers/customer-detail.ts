/** The content of the tabs of `/customers/{id}`: how one customer is doing, what it has, and its settings. */

import type { Customer } from '../../domain/customer.ts';
import { type Html, html } from '../../http/html.ts';
import type { Series } from '../../observe/figures.ts';
import type { AuditRecord } from '../../store/port/audit.ts';
import type { Belongings } from '../../store/port/customers.ts';
import type { Backlog, DeadLetters } from '../../store/port/overview.ts';
import {
  actorName,
  actorsSeen,
  entrySentence,
  namedByEntry,
  type ResourceLink,
  readResourceLinks,
} from '../audit/entries.ts';
import { tryPath } from '../deliveries/failure-pages.ts';
import { type CustomersDeliveries, latestSection, readCustomersDeliveries } from '../deliveries/latest-deliveries.ts';
import { readEndpointActivity } from '../endpoints/endpoint-activity.ts';
import { endpointBadges } from '../endpoints/endpoint-detail.ts';
import { addressFor } from '../frame/browser.ts';
import type { PageCall } from '../frame/call.ts';
import type { PageDependencies } from '../frame/page.ts';
import {
  attentionSection,
  hasProblems,
  type ProblemButton,
  problemLook,
  readAttention,
} from '../overview/attention.ts';
import { queuesSection, readStopped } from '../overview/queues.ts';
import { copyable, definitionList, figures } from '../parts/details.ts';
import { actionButton, linkButton, section } from '../parts/header.ts';
import { figureTone } from '../parts/health.ts';
import { QUEUES_SHOWN } from '../parts/limits.ts';
import { emptyState, table } from '../parts/list.ts';
import { stateBadge } from '../parts/mark.ts';
import { removalSection } from '../parts/removal.ts';
import { roleText } from '../parts/role-texts.ts';
import { breakable, countOf, countText, exactTime, shareText, time } from '../parts/text.ts';
import { deadKept } from '../record/dead-records.ts';
import { NO_OWNERS } from '../record/owner.ts';
import { signInFact } from '../sign-in/sign-in-address.ts';
import { invitationBadge, waitsForPassword } from '../users/user-state.ts';
import { heldByBelongings, NOTHING, suspensionSection } from './customer-removal.ts';

/** Rows of each table, and entries of the history. The lists and the audit log have the rest. */
const SHOWN = 5;
const ENTRIES_SHOWN = 50;

type Item = {
  readonly href: string;
  readonly name: string;
  readonly state: Html;
  readonly note: string | Html;
};
type Group = { readonly kind: keyof Belongings; readonly title: string; readonly items: readonly Item[] };

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
  const waiting = users.flatMap(({ user }) => (waitsForPassword(user) ? user.id : []));
  const [activityOf, invited] = await Promise.all([
    readEndpointActivity(reads, ids),
    store.invitations.expiries(waiting),
  ]);
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
        state: html`<span>${invitationBadge(user, invited.get(user.id) ?? null, now)}</span>`,
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

/** The tabs of the page that are in this file. The one about its usage is with the other pages about usage. */
export const CUSTOMER_VIEWS = {
  activity: activityView,
  resources: resourcesView,
  settings: settingsView,
  history: historyView,
} as const;

/** Problems, figures and its newest deliveries. */
async function activityView(dependencies: PageDependencies, call: PageCall, customer: Customer): Promise<Html> {
  const { id } = customer;
  const { store, figures: kept } = dependencies.ofCustomer(id);
  const [series, backlog, dead, attention, latest, endpoints] = await Promise.all([
    kept.series('day', 0),
    store.overview.backlog(id, QUEUES_SHOWN),
    store.overview.dead(id),
    readAttention(store, call.now),
    readCustomersDeliveries(store),
    store.directory.endpoints({}, null, 1),
  ]);
  const button = call.may('operator') ? buttonOf(call, id) : null;
  const problems = attentionSection({ ...attention, button, now: call.now });
  // Without a webhook, figures would be empty.
  if (latest === null)
    return html`${hasProblems(attention) ? problems : null}${firstSteps(call, id, endpoints.length > 0)}`;
  const stopped = await readStopped(store, backlog);
  return html`
    ${health(id, { series, backlog, dead, deadDays: dependencies.kept.deadDays })}
    ${problems}
    ${queuesSection({ backlog, ailing: attention.ailing, owners: NO_OWNERS, stopped }, button, call.now)}
    ${deliverySection(call, id, latest)}
  `;
}

/** Reads over the customer's part of the service, which has nothing of others. */
async function resourcesView(
  { ofCustomer, store: all, clock }: PageDependencies,
  call: PageCall,
  { id }: Customer,
): Promise<Html> {
  const { store, figures: kept } = ofCustomer(id);
  const [counts, groups] = await Promise.all([
    all.customers.belongings([id]),
    readGroups({ store, figures: kept, clock }),
  ]);
  const count = counts.get(id) ?? NOTHING;
  return html`<div class="columns">${groups.map((group) => groupSection(call, id, group, count[group.kind]))}</div>`;
}

async function settingsView(
  { store, publicUrl }: PageDependencies,
  { may, request }: PageCall,
  customer: Customer,
): Promise<Html> {
  const { id, active } = customer;
  const counts = (await store.customers.belongings([id])).get(id) ?? NOTHING;
  const manages = may('administrator');
  return html`
    ${account(customer, addressFor(request, publicUrl()))}
    ${manages && active ? suspensionSection(customer) : null}
    ${manages ? removal(customer, counts) : null}
  `;
}

async function historyView({ store, hasPage }: PageDependencies, call: PageCall, { id }: Customer): Promise<Html> {
  const entries = await store.audit.list(null, ENTRIES_SHOWN, { customerId: id, kind: 'changes' });
  const references = entries.flatMap(({ actor, target }) => [actor, target]);
  return auditSection(call, id, { entries, linkOf: await readResourceLinks(store, references, hasPage) });
}

/** A start leads back to the customer. */
function buttonOf({ csrf }: PageCall, customerId: string): ProblemButton {
  return (webhook, offset) =>
    actionButton({
      csrf,
      ...(offset === null
        ? { action: `/webhooks/${webhook.id}/start`, fields: { back: `/customers/${customerId}` } }
        : { action: tryPath(webhook.id), fields: { offset: String(offset) } }),
      ...problemLook(webhook, offset),
    });
}

type Health = {
  readonly series: Series;
  readonly backlog: Backlog;
  readonly dead: DeadLetters;
  readonly deadDays: number;
};

function health(id: string, { series, backlog, dead, deadDays }: Health): Html {
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
      hint: backlog.records === 0 ? 'No delivery is pending' : `at ${countOf(backlog.webhooks, 'webhook')}`,
    },
    {
      label: 'Dead',
      value: `${countText(dead.records)}${dead.more ? '+' : ''}`,
      href: `/deliveries?customer=${id}&state=dead`,
      tone: dead.records > 0 ? 'negative' : 'neutral',
      hint: dead.records > 0 ? deadKept(deadDays) : 'nothing given up',
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

function account(customer: Customer, address: string | null): Html {
  const { id, externalId, metadata, limits, createdAt, updatedAt } = customer;
  return section({
    title: 'The customer',
    content: definitionList([
      ['External id', externalId === null ? html`<span class="quiet">none</span>` : copyable(externalId)],
      ['Customer id', copyable(id)],
      ...Object.entries(metadata).map(([name, value]) => [`Metadata: ${name}`, value] as const),
      ...signInFact(id, address),
      ['Limits', limitsText(limits)],
      ['Added', time(createdAt)],
      ['Changed', time(updatedAt)],
    ]),
  });
}

function limitsText({ endpoints, webhooks, eventsPerSecond }: Customer['limits']): string {
  const rate = eventsPerSecond === null ? 'no limit on events' : `${countOf(eventsPerSecond, 'event')} a second`;
  return `${countOf(endpoints, 'endpoint')}, ${countOf(webhooks, 'webhook')}, ${rate}`;
}

function deliverySection({ now, may }: PageCall, id: string, latest: CustomersDeliveries): Html {
  const actions = [
    may('operator')
      ? linkButton({ href: `/publish?customer=${id}`, label: 'Publish an event', icon: 'send', kind: 'quiet' })
      : null,
    linkButton({ href: `/deliveries?customer=${id}`, label: 'All deliveries' }),
  ];
  return latestSection(latest, latest.webhookIds, { now, isPulled: false, actions });
}

/** Of a customer without webhooks. */
function firstSteps({ may }: PageCall, id: string, hasEndpoint: boolean): Html {
  const kind = hasEndpoint ? 'webhooks' : 'endpoints';
  return emptyState({
    title: 'Nothing is sent yet',
    text: 'An endpoint is where the customer receives events. A webhook sends them there.',
    action: may('administrator')
      ? linkButton({ href: `/${kind}/new?customer=${id}`, label: ADD[kind], kind: 'primary', icon: 'plus' })
      : null,
  });
}

type Entries = { readonly entries: readonly AuditRecord[]; readonly linkOf: (reference: string) => ResourceLink };

function auditSection({ now }: PageCall, id: string, { entries, linkOf }: Entries): Html {
  const actorOf = actorsSeen({ customerId: null }, linkOf, null);
  return section({
    title: 'History',
    lead: 'Changes to the customer and to what it has, newest first.',
    id: 'audit',
    isPlain: true,
    actions: [linkButton({ href: `/audit?customer=${id}&show=all`, label: 'Audit log' })],
    content: html`<div class="audit-list">${table({
      caption: 'History',
      columns: [
        { label: 'When', phone: 'plain' },
        { label: 'What happened', kind: 'main' },
      ],
      rows: entries.map((entry) => {
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
