/** `/applications` and `/applications/{id}`: the programs that can get tokens, each with its scopes, its user and its credentials. */
import { isAllowed, requireRightsOfApplication } from '../../access/containment.ts';
import type { Application } from '../../domain/application.ts';
import type { ApiProduct } from '../../domain/catalogue.ts';
import type { User } from '../../domain/user.ts';
import { type Html, html } from '../../http/html.ts';
import type { TokensInForce } from '../../store/port/access.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import type { ApplicationListing } from '../../store/port/directory.ts';
import type { PageCall, View } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { API_REFERENCE_PATH, type ApiCall } from '../parts/api-calls.ts';
import { operatorName } from '../parts/brand.ts';
import { copyable, definitionList } from '../parts/details.ts';
import { newForm, textField } from '../parts/fields.ts';
import { actionButton, linkButton, pageHeader, section } from '../parts/header.ts';
import { emptyState, firstStep, listView, nothingFound, readListed, table } from '../parts/list.ts';
import { badge, notice, stateBadge, tags } from '../parts/mark.ts';
import { removalSection } from '../parts/removal.ts';
import { countOf, relativeTime, spanText, time } from '../parts/text.ts';
import { ownerFilter, ownerNames } from '../record/owner.ts';
import { ownerFacts } from '../record/record-tabs.ts';
import { scopeSection } from './application-scopes.ts';
import { usageSections } from './secret-pages.ts';

const PATH = '/applications';
const SHOWN_SCOPES = 3;

export function applicationListPage({ pages, store }: SharedPageDependencies): PageRoute<'both'> {
  return pages.view(PATH, 'both', async (call) => {
    const { query } = call;
    const [text, scope, userId] = ['q', 'scope', 'user'].map((name) => query.get(name)?.trim() ?? '');
    const owner = await ownerFilter(store, query);
    const filter = { ...(text && { text }), ...(scope && { scope }), ...(userId && { userId }), ...owner.filter };
    const { items, cursor, nextCursor } = await readListed(
      query,
      (before, limit) => store.registry.applications(filter, before, limit),
      ({ application }) => application.id,
    );
    const state = newForm({ q: text, scope });
    const ownerIn = await ownerNames(
      store,
      items.map(({ application }) => application),
    );
    const whose =
      call.brand === null
        ? 'The programs that call your API.'
        : `Your programs that call the API of ${operatorName(call.brand)}.`;
    return listView({
      title: 'Applications',
      lead: `${whose} Each signs in with its client id and secret, and may do what both its scopes and its account allow.`,
      actions: [
        store.customerId === null
          ? null
          : linkButton({ href: API_REFERENCE_PATH, label: 'API reference', icon: 'product' }),
        call.may('administrator') ? newButton(owner.newQuery) : null,
      ],
      path: PATH,
      query,
      nextCursor,
      filters: [
        textField(state, { name: 'q', label: 'Name or client id', type: 'search' }),
        textField(state, { name: 'scope', label: 'Scope', isCode: true, placeholder: 'Any scope' }),
        ...(userId ? [html`<input type="hidden" name="user" value="${userId}">`] : []),
        ...owner.fields,
      ],
      results: applicationTable(call, items, ownerIn, Object.keys(filter).length > 0 || cursor !== null),
    });
  });
}

function applicationTable(
  call: PageCall,
  listed: readonly ApplicationListing[],
  ownerIn: Awaited<ReturnType<typeof ownerNames>>,
  isFiltered: boolean,
): Html {
  return table({
    caption: 'Applications',
    columns: [
      { label: 'Name and client id', kind: 'main' },
      { label: 'State', phone: 'state' },
      { label: 'Acts as', phone: 'named' },
      { label: 'Scopes', phone: 'plain' },
      { label: 'Last used', phone: 'named' },
    ],
    rows: listed.map(({ application, userName, userActive }) => {
      const { id, name, clientId, userId, scopes, lastUsedAt } = application;
      return [
        html`
          <a href="${PATH}/${id}">${name}</a>
          ${ownerIn(application.customerId)}
          <span class="cell-hint">${copyable(clientId, 'client id')}</span>
        `,
        html`<span class="badges">${applicationBadges(call.now, { ...application, userActive })}</span>`,
        html`<a href="/users/${userId}" class="plain-link one-line">${userName}</a>`,
        scopes.length === 0
          ? html`<span class="quiet">none</span>`
          : tags(scopes.slice(0, SHOWN_SCOPES), scopes.length - SHOWN_SCOPES),
        relativeTime(lastUsedAt, call.now),
      ];
    }),
    empty: isFiltered ? nothingFound(PATH, 'applications') : firstApplication(call),
  });
}

/** Whether it can request tokens, and when its previous secret expires. */
function applicationBadges(
  now: number,
  application: Pick<ApplicationListing['application'], 'active' | 'previousSecretExpiresAt'> & {
    readonly userActive: boolean;
  },
): Html[] {
  const { active, userActive, previousSecretExpiresAt } = application;
  const overlaps = previousSecretExpiresAt !== null && previousSecretExpiresAt > now;
  return [
    active && !userActive ? badge('caution', 'account inactive') : stateBadge(active ? 'active' : 'inactive'),
    ...(overlaps
      ? [
          html`
            ${badge('info', 'two secrets', 'clock')}
            ${' '}
            <span class="cell-hint">the old one expires ${relativeTime(previousSecretExpiresAt, now)}</span>
          `,
        ]
      : []),
  ];
}

function firstApplication(call: PageCall): Html {
  const api = call.brand === null ? 'your API' : `the API of ${operatorName(call.brand)}`;
  return emptyState({
    title: 'Register your first application',
    text: html`
      <p>
        Register an application for each program. It exchanges a client id and a secret for access tokens, and calls
        ${api} with them.
      </p>
    `,
    action: firstStep(call, 'register', newButton),
  });
}

function newButton(query = ''): Html {
  return linkButton({ href: `${PATH}/new${query}`, label: 'Register an application', kind: 'primary', icon: 'plus' });
}

type Around = {
  readonly owner: OwnerName | null;
  /** The address of this service, if it is known. */
  readonly address: string | null;
  /** The account that the application acts as. */
  readonly user: User | null;
  readonly products: readonly ApiProduct[];
  /** The calls that its scopes open, in a customer's portal. */
  readonly calls: readonly ApiCall[];
  readonly tokens: TokensInForce;
  readonly history: Html;
};

export function applicationView(call: PageCall, application: Application, around: Around): View {
  const { user, products, owner, history, calls, address } = around;
  const { id, name, active } = application;
  const userActive = user?.active === true;
  const mayChange =
    call.may('administrator') && isAllowed(() => requireRightsOfApplication(call.acting, application.scopes, user));
  const verb = active ? 'deactivate' : 'activate';
  const label = active ? 'Deactivate' : 'Activate';
  const action = {
    action: `/applications/${id}/${verb}`,
    csrf: call.csrf,
    label,
    longLabel: `${label} ${name}`,
    icon: active ? ('stop' as const) : ('play' as const),
  };
  const content = html`
    ${pageHeader({
      title: name,
      crumbs: [{ href: '/applications', label: 'Applications' }],
      badges: applicationBadges(call.now, { ...application, userActive }),
      facts: ownerFacts(owner),
      actions: mayChange
        ? [linkButton({ href: `/applications/${id}/edit`, label: 'Change', icon: 'edit' }), actionButton(action)]
        : [],
    })}
    ${call.may('administrator') && !mayChange ? notice({ tone: 'info', text: BEYOND }) : null}
    ${
      active && !userActive
        ? notice({
            tone: 'caution',
            text: 'The account that it acts as is inactive, so it gets no tokens, and its tokens are refused.',
          })
        : null
    }
    ${credentials(call, application, around, mayChange)}
    ${identity(call, application, user)}
    ${scopeSection(call, application, user, { products, calls })}
    ${address === null ? null : usageSections(application, products, address)}
    ${history}
    ${
      mayChange
        ? removalSection({
            path: `/applications/${id}`,
            noun: 'application',
            text: 'Its credentials and tokens stop working immediately.',
          })
        : null
    }
  `;
  return { title: name, content };
}

const BEYOND = 'This application has rights that you do not have, so you cannot change it.';

function credentials(call: PageCall, application: Application, { tokens }: Around, mayChange: boolean): Html {
  const { id, clientId, accessTokenValiditySeconds, secretCreatedAt, lastUsedAt } = application;
  const until = application.previousSecretExpiresAt;
  const actions = mayChange
    ? [
        linkButton({ href: `/applications/${id}/regenerate-secret`, label: 'New secret', icon: 'replay' }),
        tokens.newestAt === null && tokens.isWhole
          ? null
          : linkButton({ href: `/applications/${id}/revoke-tokens`, label: 'Revoke all tokens' }),
      ]
    : [];
  return section({
    title: 'Credentials',
    actions,
    content: definitionList([
      ['Client id', copyable(clientId, 'client id')],
      [
        'Client secret',
        html`created ${relativeTime(secretCreatedAt, call.now)}`,
        'Shown once; only a hash is stored. If it is lost, create a new one.',
      ],
      ...(until !== null && until > call.now
        ? [['Previous secret', html`valid until ${time(until)} (${relativeTime(until, call.now)})`] as const]
        : []),
      ['Token lifetime', spanText(accessTokenValiditySeconds * 1000)],
      ['Last used', relativeTime(lastUsedAt, call.now), 'The last token request, or the last call with a token.'],
      ['Valid tokens', tokensText(tokens, call.now)],
    ]),
  });
}

function tokensText({ count, newestAt, isWhole }: TokensInForce, now: number): Html {
  if (newestAt === null) return html`<span class="quiet">${isWhole ? 'none' : 'none among the newest'}</span>`;
  return html`
    ${isWhole ? '' : 'at least '}${countOf(count, 'token')}, the newest issued ${relativeTime(newestAt, now)}
  `;
}

function identity(
  { session: { customerId } }: PageCall,
  { id, createdAt, updatedAt }: Application,
  user: User | null,
): Html {
  return section({
    title: 'The application',
    content: definitionList([
      [
        'Acts as',
        user === null ? null : html`<a href="/users/${user.id}">${user.userName}</a>`,
        'The program may do what this account may do, within its scopes.',
      ],
      // Those of the operator's own employees.
      ...(customerId === null ? [['Divisions', divisionsOf(user)] as const] : []),
      ['Application id', copyable(id)],
      ['Registered', time(createdAt)],
      ['Changed', time(updatedAt)],
    ]),
  });
}

function divisionsOf(user: User | null): string | null {
  const divisions = user?.constraints.divisions;
  return divisions === undefined ? 'all' : divisions.join(', ') || 'none';
}
