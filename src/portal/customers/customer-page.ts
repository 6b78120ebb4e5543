/** `/customers/{id}`: one customer in tabs, each with a path of its own. */
import type { Customer } from '../../domain/customer.ts';
import { type Html, html } from '../../http/html.ts';
import { type PageCall, pathId } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { actionButton, linkButton, pageHeader, tabs } from '../parts/header.ts';
import { notice, stateBadge } from '../parts/mark.ts';
import { CUSTOMER_VIEWS } from './customer-detail.ts';

/** In their order, with the ids of what only the tab has. */
const TABS = {
  activity: { label: 'Activity', anchors: ['attention', 'deliveries'] },
  resources: { label: 'Resources', anchors: ['endpoints', 'webhooks', 'applications', 'users', 'keys'] },
  usage: { label: 'Usage', anchors: [] },
  settings: { label: 'Settings', anchors: [] },
  history: { label: 'History', anchors: ['audit'] },
} as const;
type CustomerTab = keyof typeof TABS;

export function customerPages(dependencies: PageDependencies): PageRoute<'operator'>[] {
  const { pages, services } = dependencies;
  return (Object.keys(CUSTOMER_VIEWS) as (keyof typeof CUSTOMER_VIEWS)[]).map((tab) =>
    pages.view(pathOf('/customers/{id}', tab), 'operator', async (call) => {
      const customer = await services.customers.get(pathId(call));
      const content = await CUSTOMER_VIEWS[tab](dependencies, call, customer);
      return { title: customer.name, content: html`${customerHeader(call, customer, tab)}${content}` };
    }),
  );
}

function pathOf(customer: string, tab: CustomerTab): string {
  return tab === 'activity' ? customer : `${customer}/${tab}`;
}

/** The name, the state and the tabs, which every tab has. */
export function customerHeader(call: PageCall, customer: Customer, current: CustomerTab): Html {
  const { id, name, externalId, active } = customer;
  const links = Object.entries(TABS).map(([tab, { label, anchors }]) => ({
    href: pathOf(`/customers/${id}`, tab as CustomerTab),
    label,
    anchors,
    isCurrent: tab === current,
  }));
  return html`
    ${pageHeader({
      title: name,
      crumbs: [{ href: '/customers', label: 'Customers' }],
      badges: [stateBadge(active ? 'active' : 'suspended')],
      lead: externalId === null ? undefined : html`<code>${externalId}</code>`,
      actions: call.may('administrator') ? actions(call, customer) : [],
    })}
    ${active ? null : SUSPENDED}
    ${tabs(`The customer ${name}`, links)}
  `;
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
