/** The pages of users: the accounts that people sign in with and that applications act as. */
import { INVITATIONS_PATH, invitationUrl } from '../../access/invitations.ts';
import { type UserInput, userReader } from '../../access/users.ts';
import type { User } from '../../domain/user.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { Refusal, refuseField, unknownAddress } from '../../kernel/refusal.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import { readHistorySection } from '../audit/record-changes.ts';
import { addressFor } from '../frame/browser.ts';
import { attempted, madeWithout, orBack, type PageCall, pathId, type Redirect, redirectTo } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { type Result, resultOf } from '../frame/results.ts';
import { secretBox } from '../parts/details.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import { sentence, time } from '../parts/text.ts';
import { OPERATOR, ownedCrumbs, ownedName, permissionsForCustomers, readOwner, withOwner } from '../record/owner.ts';
import { recordPages, removalPages } from '../record/record-pages.ts';
import { signInAddress } from '../sign-in/sign-in-address.ts';
import { refusedUserForm, userFields } from './user-form.ts';
import { userSuggestionPage } from './user-suggestions.ts';
import { heldByApplications, nounOf, userListPage, userView } from './user-views.ts';

const LIST = { href: '/users', label: 'Users' };

export function userPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  return [
    userListPage(dependencies),
    userSuggestionPage(dependencies),
    ...userForms(dependencies),
    userPage(dependencies),
    ...userActions(dependencies),
    ...userRemoval(dependencies),
  ];
}

function entityOf({ services, store }: SharedPageDependencies) {
  return {
    for: 'both' as const,
    list: LIST,
    noun: nounOf,
    nameOf: ({ userName }: User) => userName,
    administration: services.users,
    owners: store,
  };
}

function userForms(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, store, offered } = dependencies;
  const isOfCustomer = store.customerId !== null;
  return recordPages(pages, {
    ...entityOf(dependencies),
    reader: userReader,
    choices: async (owner) => {
      const products = await store.products.all();
      if (owner === OPERATOR) return products;
      return permissionsForCustomers(products, store.customerId === null ? null : offered());
    },
    // Divisions are a matter of the operator's own employees.
    fields: (before, products) => {
      const { constraints, ...fields } = userFields(before, products, isOfCustomer);
      return !isOfCustomer && constraints !== undefined ? { ...fields, constraints } : fields;
    },
    layout: ({ before, field, group, isSet }) => {
      const permissions = group('Permissions', PERMISSIONS_LEAD, 'permissions');
      const rights = isOfCustomer ? [permissions] : [permissions, group('Divisions', DIVISIONS_LEAD, 'constraints')];
      if (before?.role === 'service')
        return html`${group('Service account', null, 'userName', 'displayName')}${rights}`;
      return html`
        ${group('User', null, 'userName', 'displayName', 'email')}
        ${field('role')}
        ${isOfCustomer ? html`<div class="for-service">${rights}</div>` : userRights(rights, isSet(...RIGHTS))}
        ${before === null ? html`<div class="for-person">${group('Invitation', null, 'invite')}</div>` : null}
      `;
    },
    titles: () => ({ morePermissions: 'Further permissions' }),
    refused: refusedUserForm,
    adjust: ({ invite: _, ...body }, before, { user }) => {
      if (before !== null && before.id === user.id && body.role !== before.role)
        throw refuseField('role', 'cannot be changed for your own account: ask another administrator');
      return body;
    },
    creation: {
      title: 'Add a user',
      submit: 'Add the user',
      // A user who is limited to divisions can only add users of these divisions.
      start: ({ session }) => ({ role: 'viewer', constraints: session.constraints, invite: true }),
      respond: async (call, input) => {
        const url = addressFor(call.request, dependencies.publicUrl());
        if (input.role !== 'service' && call.form.has('invite') && url !== null)
          return createdAndInvited(dependencies, call, input, url);
        const { id, userName, role } = await services.users.create(input, call.acting);
        const next = role === 'service' ? 'Applications can act as it.' : 'Invite them to set a password.';
        return redirectTo(`/users/${id}`, `${userName} is added. ${next}`);
      },
    },
    change: { lead: 'Rights that you remove end with the next request.' },
  });
}

const PERMISSIONS_LEAD =
  'Applications that act as this account may do these, within their scopes. They allow nothing in the portal.';
const DIVISIONS_LEAD = 'The employees API, and other APIs with divisions, show only these.';

const RIGHTS = ['permissions', 'morePermissions', 'reach', 'divisions'];

/** The rights of applications that act as the user. A person seldom needs them; the style sheet opens them for a service account. */
function userRights(fields: readonly Html[], isOpen: boolean): Html {
  return html`
    <details class="more-fields user-rights"${attributes({ open: isOpen })}>
      <summary>Advanced: what applications may do as this user</summary>
      <div class="fields">${fields}</div>
    </details>
  `;
}

function userPage(dependencies: SharedPageDependencies): PageRoute<'both'> {
  const { pages, services, store, publicUrl } = dependencies;
  return pages.view('/users/{id}', 'both', async (call) => {
    const user = await services.users.get(pathId(call));
    const target = `user:${user.id}`;
    const [applications, open, signedIn, invited, owner, history] = await Promise.all([
      store.applications.ofUser(user.id),
      services.sessions.ofUser(user.id),
      store.audit.lastOf('user.sign-in', [target]),
      store.invitations.expiries([user.id]),
      readOwner(store, user),
      readHistorySection(dependencies, call, {
        target,
        createdAt: user.createdAt,
        lead: 'Changes, invitations and new passwords, newest first.',
        didLabel: user.role === 'service' ? 'What it did' : 'What they did',
      }),
    ]);
    const invitedUntil = invited.get(user.id) ?? null;
    const address = addressFor(call.request, publicUrl());
    const visits = { open: open.length, lastAt: signedIn.get(target) ?? null, invitedUntil, address };
    return withOwner(owner, userView(call, user, { applications, visits, owner, history }));
  });
}

function userActions(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services } = dependencies;
  const { users, sessions } = services;
  const switching = (verb: 'activate' | 'deactivate', done: string): PageRoute<'both'> =>
    pages.act(`/users/{id}/${verb}`, 'both', 'administrator', async (call) => {
      const { id } = await users.get(pathId(call));
      if (id === call.user.id) return refused(id, 'Nobody can deactivate their own account.');
      return attempted(`/users/${id}`, done, () => users.patch(id, { active: verb === 'activate' }, call.acting));
    });
  return [
    switching(
      'activate',
      'The account is active. Earlier tokens of its applications stay revoked; they can get new ones.',
    ),
    switching('deactivate', 'The account is signed out, and its applications are refused from the next call on.'),
    invitationPage(dependencies),
    pages.act('/users/{id}/sign-out', 'both', 'administrator', async ({ params, acting }) => {
      const { id, userName } = await users.get(params.id ?? '');
      const done = `${userName} is signed out everywhere.`;
      return attempted(`/users/${id}`, done, () => sessions.endAll(id, acting));
    }),
  ];
}

/** The user stays if the invitation is refused, such as that of a suspended customer. Its page says why. */
async function createdAndInvited(
  dependencies: SharedPageDependencies,
  call: PageCall,
  input: UserInput,
  url: string,
): Promise<Redirect> {
  let user = null as User | null;
  try {
    return await dependencies.results.once(call, async () => {
      user = await dependencies.services.users.create(input, call.acting);
      return invite(dependencies, call, user, url);
    });
  } catch (error) {
    if (user === null) throw error;
    return madeWithout(call, error, {
      path: `/users/${user.id}`,
      made: `${user.userName} is added`,
      missing: 'invited',
    });
  }
}

/** Makes an invitation, and shows its link once. */
function invitationPage(dependencies: SharedPageDependencies): PageRoute<'both'> {
  const { pages, results, services, publicUrl } = dependencies;
  const { users, invitations } = services;
  return pages.act('/users/{id}/invite', 'both', 'administrator', async (call) => {
    const user = await users.get(pathId(call));
    const { id } = user;
    const url = addressFor(call.request, publicUrl());
    if (url === null) return refused(id, sentence(unknownAddress(call.session.customerId).message));
    return orBack(`/users/${id}`, async () => {
      if (id !== call.user.id) return results.once(call, () => invite(dependencies, call, user, url));
      // Nobody sends a link to themselves.
      const { token } = await invitations.invite(id, call.acting);
      return redirectTo(`${INVITATIONS_PATH}/${token}`);
    });
  });
}

async function invite(
  { services, store }: SharedPageDependencies,
  { acting }: PageCall,
  user: User,
  url: string,
): Promise<Result> {
  const { token, expiresAt } = await services.invitations.invite(user.id, acting);
  const link = invitationUrl(url, token);
  const { customerId } = user;
  const place = customerId === null ? null : signInAddress(customerId, url);
  return invitedResult({ user, link, expiresAt, place, owner: await readOwner(store, user) });
}

function userRemoval(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { users } = dependencies.services;
  return removalPages(
    dependencies.pages,
    {
      ...entityOf(dependencies),
      administration: {
        ...users,
        remove: async (id, acting) => {
          if (acting.actor === `user:${id}`) throw new Refusal('invalid_state', 'nobody can delete their own account');
          await users.remove(id, acting);
        },
      },
    },
    {
      text: () =>
        'The account is deleted with its password and its sessions. This cannot be undone. The audit log keeps ' +
        'what it did.',
      held: async (user) => heldByApplications(user, await dependencies.store.applications.ofUser(user.id)),
    },
  );
}

function refused(id: string, text: string) {
  return { redirect: `/users/${id}`, flash: { tone: 'negative', text } } as const;
}

type Invited = {
  readonly user: Pick<User, 'id' | 'userName'>;
  readonly link: string;
  /** The address of the sign-in page of a customer's user. */
  readonly place: Html | null;
  readonly expiresAt: number;
  readonly owner: OwnerName | null;
};

function invitedResult({ user: { id, userName }, link, place, expiresAt, owner }: Invited): Result {
  const title = `Invitation for ${ownedName(userName, owner)}`;
  const secret = {
    label: 'Invitation',
    value: link,
    note: 'Anyone who opens this link can set the password of this account. Send it to its owner over a private channel.',
    renewal: { href: `/users/${id}`, label: `invite ${userName} again` },
  };
  return resultOf(
    title,
    (showing) =>
      html`
        ${pageHeader({
          title,
          crumbs: ownedCrumbs(LIST, owner, { href: `/users/${id}`, label: userName }),
          actions: [linkButton({ href: `/users/${id}`, label: `Go to ${userName}` })],
        })}
        ${section({
          title: 'The link',
          content: html`
            ${secretBox(secret, showing)}
            ${notice({
              tone: 'info',
              text: html`
                It works once, until ${time(expiresAt)}. Earlier invitations for this account no longer work.
              `,
            })}
            ${place === null ? null : html`<p>Later, ${userName} signs in at ${place}</p>`}
          `,
        })}
      `,
  );
}
