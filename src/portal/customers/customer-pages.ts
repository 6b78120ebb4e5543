/** The pages of customers in the operator's portal: the list, one customer, its forms, and suspending it. */
import { customerReader } from '../../customers/customers.ts';
import type { Customer } from '../../domain/customer.ts';
import { ENDPOINTS_LIMIT_DEFAULT, METADATA_PAIRS_MAX, WEBHOOKS_LIMIT_DEFAULT } from '../../domain/limits.ts';
import { DAY_MS, dayOf } from '../../domain/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { type Day, sumOfDays } from '../../observe/figures.ts';
import type { Belongings, CustomerHealth } from '../../store/port/customers.ts';
import { attempted, pathId, redirectTo, type View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { readChoice, readText } from '../frame/query.ts';
import { type FormState, newForm, selectField, textField } from '../parts/fields.ts';
import { confirmPage } from '../parts/form.ts';
import { linkButton } from '../parts/header.ts';
import { healthCell } from '../parts/health.ts';
import { emptyState, firstStep, listView, mostUrgentFirst, nothingFound, readListed, table } from '../parts/list.ts';
import { LOOK_FROM_CUSTOMERS, LOOK_TITLE } from '../parts/look-place.ts';
import { stateBadge } from '../parts/mark.ts';
import { countOf, countText, dayText } from '../parts/text.ts';
import { type FieldTable, type FormField, number as numberField, rows, text } from '../record/field-table.ts';
import { objectPatches } from '../record/json-field.ts';
import { customerSuggestionPage } from '../record/owner.ts';
import { recordForm } from '../record/record-form.ts';
import { recordPages, removalPages } from '../record/record-pages.ts';
import { customerPages } from './customer-page.ts';
import { heldByBelongings, NOTHING } from './customer-removal.ts';
import { customerLinkPages } from './portal-link-forms.ts';

const LIST = { href: '/customers', label: 'Customers' };

export function customerAdministrationPages(dependencies: PageDependencies): PageRoute<'operator'>[] {
  const { pages, services } = dependencies;
  const { customers } = services;
  const entity = {
    for: 'operator' as const,
    list: LIST,
    noun: 'customer',
    nameOf: ({ name }: Customer) => name,
    administration: customers,
  };
  return [
    customerListPage(dependencies),
    customerSuggestionPage(dependencies),
    ...recordPages(pages, {
      ...entity,
      reader: customerReader,
      choices: async () => null,
      fields: () => CUSTOMER_FIELDS,
      layout: ({ group, field, before }) =>
        html`
          ${group('The customer', null, 'name', 'externalId')}
          ${field('metadata')}
          ${group(
            'Limits',
            before === null ? null : 'A lower limit deletes nothing. It only prevents more.',
            'limits.endpoints',
            'limits.webhooks',
            'limits.eventsPerSecond',
          )}
        `,
      adjust: (body, before) => (before === null ? body : objectPatches(body, before, ['metadata'])),
      creation: {
        title: 'Add a customer',
        lead: "Its endpoints, webhooks, applications, keys and users are isolated from every other customer's.",
        submit: 'Add the customer',
        respond: async ({ acting }, input) => {
          const { id, name } = await customers.create(input, acting);
          return redirectTo(`/customers/${id}`, `${name} was added. Create a portal link to give it access.`);
        },
      },
      change: {},
    }),
    ...customerPages(dependencies),
    ...customerLinkPages(dependencies),
    ...suspendPages(dependencies),
    pages.act('/customers/{id}/activate', 'operator', 'administrator', async (call) => {
      const { id, name } = await customers.get(pathId(call));
      const done = `${name} is active. Its webhooks that were stopped by the suspension run again.`;
      return attempted(`/customers/${id}`, done, () => customers.patch(id, { active: true }, call.acting));
    }),
    ...removalPages(pages, entity, {
      text: () => 'Its portal links and sessions are deleted. This cannot be undone. The audit log keeps its entries.',
      held: async ({ id, active }) =>
        heldByBelongings((await dependencies.store.customers.belongings([id])).get(id) ?? NOTHING, active),
    }),
  ];
}

/** `webhook stops` of one, `3 webhooks stop` of three, `webhooks stop` of none. */
function several(count: number, one: string, more: string): string {
  if (count === 1) return one;
  return count === 0 ? more : `${count} ${more}`;
}

/** Asks first, because it immediately stops everything of a customer. */
function suspendPages({ pages, services: { customers }, store }: PageDependencies): PageRoute<'operator'>[] {
  return pages.form(
    '/customers/{id}/suspend',
    'operator',
    recordForm<Customer>({
      administration: customers,
      view: async ({ csrf }, { id, name }, form): Promise<View> => {
        const path = `/customers/${id}`;
        const count = (await store.customers.belongings([id])).get(id) ?? NOTHING;
        return confirmPage({
          title: `Suspend the customer ${name}?`,
          crumbs: [LIST, { href: path, label: name }],
          text: html`
            <div class="prose">
              <p>Effective immediately:</p>
              <ul>
                <li>
                  its ${several(count.webhooks, 'webhook stops and keeps its', 'webhooks stop and keep their')}
                  pending deliveries, including those of events that are published during the suspension;
                </li>
                ${
                  count.applications === 0
                    ? null
                    : html`
                      <li>
                        its ${several(count.applications, 'application gets', 'applications get')} no tokens, and tokens
                        issued before are refused;
                      </li>
                    `
                }
                <li>
                  its ${several(count.users, 'user is', 'users are')} signed out and cannot sign in, and its portal
                  links and invitations cannot be opened.
                </li>
              </ul>
              <p>
                Nothing that it has set up is deleted. When you activate it again, its webhooks continue where
                they stopped. Its sessions, links, invitations and tokens end permanently: its users sign in again,
                and its applications get new tokens.
              </p>
            </div>
          `,
          form,
          csrf,
          action: `${path}/suspend`,
          submit: 'Suspend the customer',
          cancel: path,
        });
      },
      respond: async ({ acting }, { id, name }) =>
        attempted(`/customers/${id}`, `${name} is suspended.`, () => customers.patch(id, { active: false }, acting)),
    }),
  );
}

const PAIRS = rows({
  label: 'Metadata',
  hint: `Pairs of text for your own use. The customer does not see them. At most ${METADATA_PAIRS_MAX}.`,
  fields: [
    { name: 'name', label: 'Name', placeholder: 'plan' },
    { name: 'value', label: 'Value', placeholder: 'business' },
  ],
  spare: 2,
  max: METADATA_PAIRS_MAX,
});

type Pair = Readonly<Record<string, string>>;

/** An object in the API, rows in the form. */
const METADATA: FormField = {
  ...PAIRS,
  read: (sent, name) =>
    Object.fromEntries((PAIRS.read(sent, name) as Pair[]).map((pair) => [pair.name ?? '', pair.value ?? ''])),
  fill: (value, name) =>
    PAIRS.fill(
      Object.entries((value ?? {}) as Pair).map(([key, text]) => ({ name: key, value: text })),
      name,
    ),
};

const CUSTOMER_FIELDS: FieldTable = {
  name: text({ label: 'Name', isRequired: true, placeholder: 'Acme', hint: 'The customer sees it in its portal.' }),
  externalId: text({
    label: 'External id',
    isCode: true,
    autocomplete: 'off',
    placeholder: 'acct_1',
    hint: 'Your own id of the customer. Events can name it as customerExternalId.',
  }),
  metadata: METADATA,
  'limits.endpoints': numberField({
    label: 'Maximum endpoints',
    title: 'Endpoints',
    min: 0,
    hint: `If empty: ${ENDPOINTS_LIMIT_DEFAULT}.`,
  }),
  'limits.webhooks': numberField({
    label: 'Maximum webhooks',
    title: 'Webhooks',
    min: 0,
    hint: `If empty: ${WEBHOOKS_LIMIT_DEFAULT}.`,
  }),
  'limits.eventsPerSecond': numberField({ label: 'Events per second', min: 1, hint: 'If empty: no limit.' }),
};

const STATES = ['problems', 'active', 'suspended'] as const;

function customerListPage(dependencies: PageDependencies): PageRoute<'operator'> {
  const { pages, store } = dependencies;
  return pages.view(LIST.href, 'operator', async (call) => {
    const { query } = call;
    const text = readText(query, 'q');
    const state = readChoice(query, 'state', STATES);
    const search = {
      ...(text !== null && { text }),
      ...(state === 'problems' ? { troubled: true } : state !== null && { active: state === 'active' }),
    };
    const { items, cursor, nextCursor } = await readListed(
      query,
      (before, limit) => store.customers.search(search, before, limit),
      ({ id }) => id,
    );
    const ids = items.map(({ id }) => id);
    const [counts, doing] = await Promise.all([store.customers.belongings(ids), readDoing(dependencies, ids)]);
    const inOrder = mostUrgentFirst(
      { items, cursor, nextCursor },
      ({ id, active }) => (!active ? 2 : (doing.get(id)?.health?.troubled ?? 0) > 0 ? 0 : 1),
      ({ name }) => name,
    );
    const isFiltered = text !== null || state !== null || cursor !== null;
    const isEmpty = items.length === 0 && !isFiltered;
    const look = linkButton({ href: LOOK_FROM_CUSTOMERS, label: LOOK_TITLE, icon: 'settings' });
    return listView({
      title: 'Customers',
      lead: 'The customers you serve. Each has its own endpoints, webhooks, applications and users, and a portal to manage them.',
      actions: [look, call.may('administrator') && !isEmpty ? addButton() : null],
      path: LIST.href,
      query,
      nextCursor,
      filters: isEmpty ? [] : filterFields(newForm({ q: text, state })),
      results: table({
        caption: 'Customers',
        columns: [
          { label: 'Name and external id', kind: 'main' },
          { label: 'State', phone: 'state' },
          { label: 'Succeeded, 24 h', phone: 'named' },
          { label: 'Pending', kind: 'number', phone: 'named' },
          { label: 'Last activity', phone: 'named' },
          { label: 'Webhooks', kind: 'number', phone: 'named' },
          { label: 'Endpoints', kind: 'number', phone: 'none' },
        ],
        rows: inOrder.map((customer) =>
          customerRow(customer, counts.get(customer.id), doing.get(customer.id), call.now),
        ),
        empty: isFiltered
          ? nothingFound(LIST.href, 'customers')
          : emptyState({
              title: 'Add your first customer',
              text: html`
                <p>
                  A customer manages its own endpoints, webhooks and applications in a portal, and sees nothing of
                  other customers. You give it access with a link from your own product, or in a frame there.
                </p>
              `,
              action: firstStep(call, 'add', addButton),
            }),
      }),
    });
  });
}

function filterFields(form: FormState): Html[] {
  const states = STATES.map((value) => ({ value, label: value === 'problems' ? 'with problems' : value }));
  return [
    textField(form, { name: 'q', label: 'Name or id', type: 'search' }),
    selectField(form, { name: 'state', label: 'State', choices: [{ value: '', label: 'Any' }, ...states] }),
  ];
}

function customerRow(
  { id, name, externalId, active }: Customer,
  { endpoints, webhooks }: Belongings = NOTHING,
  doing: Doing = { health: undefined, day: sumOfDays([]) },
  now: number,
): (Html | string | 0)[] {
  const { troubled = 0, pending = 0 } = doing.health ?? {};
  return [
    html`
      <a href="${LIST.href}/${id}">${name}</a>
      ${externalId === null ? null : html`<span class="cell-hint"><code>${externalId}</code></span>`}
    `,
    html`
      <span class="badges">${stateBadge(active ? 'active' : 'suspended')}</span>
      ${
        troubled === 0
          ? null
          : html`
            <a class="cell-warning tone-negative" href="${LIST.href}/${id}#attention">
              ${countOf(troubled, 'webhook')} with problems
            </a>
          `
      }
    `,
    healthCell(doing.day, troubled > 0),
    pending === 0 ? 0 : html`<a href="/deliveries?customer=${id}&state=pending">${countText(pending)}</a>`,
    activityText(doing, now),
    ...[webhooks, endpoints].map(number),
  ];
}

function number(count: number): Html | string {
  return count === 0 ? html`<span class="quiet">0</span>` : countText(count);
}

type Doing = { readonly health: CustomerHealth | undefined; readonly day: Day };

/** How customers are doing, by id: their webhooks in the last 24 hours, as on their own pages. */
async function readDoing({ store, figures, services }: PageDependencies, ids: readonly string[]) {
  const [healths, numbers] = await Promise.all([services.usage.health(ids), store.customers.webhookNumbersOf(ids)]);
  const days = await figures.days([...numbers.values()].flat());
  return new Map<string, Doing>(
    ids.map((id) => {
      const own = (numbers.get(id) ?? []).flatMap((number) => days.get(number) ?? []);
      return [id, { health: healths.get(id), day: sumOfDays(own) }];
    }),
  );
}

/** `in the last hour` or `3 hours ago` if its webhooks made requests in the last 24 hours; otherwise `today`, `yesterday`, or the day. */
function activityText({ health, day: { hours } }: Doing, now: number): Html | string {
  const past = hours.toReversed().findIndex(({ attempts }) => attempts > 0);
  if (past >= 0) return past === 0 ? 'in the last hour' : `${countOf(past, 'hour')} ago`;
  const last = health?.lastDay ?? null;
  if (last === null) return 'none';
  return last === dayOf(now) ? 'today' : last === dayOf(now - DAY_MS) ? 'yesterday' : dayText(last);
}

function addButton() {
  return linkButton({ href: `${LIST.href}/new`, label: 'Add a customer', kind: 'primary', icon: 'plus' });
}
