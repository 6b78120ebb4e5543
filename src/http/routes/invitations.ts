/** Invitations: created through the administration API, used on a page where the user sets a password. */

import { z } from 'zod';
import {
  INVITATIONS_PATH,
  type Invitations,
  invitationView,
  type NewInvitation,
  viewInvitation,
} from '../../access/invitations.ts';
import { CHOSEN_PASSWORD_MAX_LENGTH, CHOSEN_PASSWORD_MIN_LENGTH, INVITATION_MS } from '../../access/limits.ts';
import type { User } from '../../domain/user.ts';
import { type FieldProblem, Refusal } from '../../kernel/refusal.ts';
import { validate } from '../../kernel/validation.ts';
import { attributes, type Html, html } from '../html.ts';
import { IDEMPOTENCY_KEY, type Once } from '../once.ts';
import { createPageReply, type PageLook, type PageReply } from '../page.ts';
import { actionRoute } from '../resource-routes.ts';
import type { Call, Reply, Route } from '../route.ts';

/** Two passwords of full length, percent-encoded. */
const INVITATION_REQUEST_BYTES: number = 8 * 1024;
const INVITATION_HOURS: number = INVITATION_MS / 3_600_000;

const passwordForm = z.strictObject({ password: z.string(), passwordAgain: z.string() });

export type InvitationDependencies = {
  readonly invitations: Invitations;
  /** The path of the portal's stylesheet. */
  readonly stylesheet: string;
  /** The sign-in page; null without a portal. */
  readonly signInPath: () => string | null;
  /** The address of the service; null if it is unknown. */
  readonly knownAddress: () => string | null;
  /** The look of the customers' portal; null for a page of the operator if it has no name and no logo. */
  readonly customersLook: (isForCustomers: boolean) => Promise<PageLook | null>;
  /** Signs the browser in, and redirects it into the portal. Null if it has to sign in itself. */
  readonly signInInvited: SignInInvited;
};

export type SignInInvited = (user: User, call: Pick<Call, 'request' | 'remoteAddress'>) => Promise<Reply | null>;

type InviteDependencies = {
  readonly invitations: Pick<Invitations, 'invite'>;
  readonly once: Once;
  /** The public address of the service. Throws `unavailable` if it is unknown. */
  readonly publicUrl: () => string;
};

/** The guarded route that makes an invitation. */
export function inviteRoute({ invitations, once, publicUrl }: InviteDependencies): Route<'both'> {
  return actionRoute('users', 'invite', 'Invite a user', {
    for: 'both',
    operationId: 'inviteUser',
    description: 'Makes a one-time link with which the user sets a password.',
    headers: IDEMPOTENCY_KEY,
    replies: {
      201: { description: 'The link, which works once; an earlier one no longer works', schema: invitationView },
    },
    respond: async (call, id, acting) => {
      const address = publicUrl();
      return once<NewInvitation>(
        call,
        (made) => {
          const body = viewInvitation(address, made);
          return { status: 201, headers: { Location: body.url }, body };
        },
        (beside) => invitations.invite(id, acting, beside),
      );
    },
  });
}

/** The page on which an invited user sets a password. */
export function invitationRoutes(dependencies: InvitationDependencies): Route[] {
  const { invitations, signInPath, signInInvited, customersLook, knownAddress } = dependencies;
  const pageReply = createPageReply(dependencies.stylesheet);
  /**
   * A link without a reason why it cannot be used. One that was an invitation leads to the form of its user, which everyone may see. An
   * unknown one may have been a customer's: a later invitation replaced it. It has the customers' look, and leads to no form.
   */
  const unusable = async (call: Call): Promise<Reply> => {
    const owner = await invitations.ownerOf(tokenOf(call));
    const form = owner === undefined ? null : formOf({ customerId: owner }, signInPath());
    return unusablePage(pageReply, form, await customersLook(owner !== null));
  };
  /** Tries are not counted: nobody guesses 256 random bits. */
  const withUser = async (call: Call, respond: (user: User) => Promise<Reply>): Promise<Reply> => {
    const user = await invitations.find(tokenOf(call));
    return user === null ? unusable(call) : respond(user);
  };
  /** Where the user signs in later. */
  const placeOf = (user: User): string | null => {
    const [address, form] = [knownAddress(), formOf(user, signInPath())];
    return user.customerId === null || address === null || form === null ? null : address + form;
  };
  const showForm = async (user: User, status: number, problems: readonly FieldProblem[]): Promise<Reply> =>
    formPage(pageReply, {
      status,
      user,
      problems,
      place: placeOf(user),
      look: await customersLook(user.customerId !== null),
    });
  const page: Pick<Route, 'for' | 'path' | 'access' | 'tag' | 'refuse'> = {
    for: 'anyone',
    path: `${INVITATIONS_PATH}/{token}`,
    access: 'open',
    tag: 'invitations',
    refuse: (refusal) => refusalPage(pageReply, refusal),
  };

  return [
    {
      ...page,
      method: 'GET',
      summary: 'The page on which a user sets a password',
      replies: { 200: { description: 'The page', mediaType: 'text/html' } },
      respond: (call) => withUser(call, (user) => showForm(user, 200, [])),
    },
    {
      ...page,
      method: 'POST',
      summary: 'Set the password, and sign the browser in',
      body: { maxBytes: INVITATION_REQUEST_BYTES, types: ['application/x-www-form-urlencoded'], schema: passwordForm },
      replies: {
        200: { description: 'It is set', mediaType: 'text/html' },
        303: { description: 'It is set, and the browser is signed in to the portal' },
      },
      respond: (call) =>
        withUser(call, async (user) => {
          let changed: User;
          try {
            changed = await invitations.accept(tokenOf(call), validate(passwordForm, call.body));
          } catch (error) {
            if (!(error instanceof Refusal)) throw error;
            // Another request has used the link in the meantime.
            if (error.code === 'not_found') return unusable(call);
            if (error.code !== 'validation_failed') throw error;
            return showForm(user, error.status, error.details ?? []);
          }
          const signedIn = await signInInvited(changed, call);
          if (signedIn !== null) return signedIn;
          return pageReply(
            200,
            'Your password is set',
            html`
              <p>It is now the password of <strong>${user.userName}</strong>. The link is used and no longer works.</p>
              ${signInLink(formOf(user, signInPath()))}
              ${placeText(placeOf(user))}
            `,
            await customersLook(user.customerId !== null),
          );
        }),
    },
  ];
}

function tokenOf({ params }: Call): string {
  return params.token ?? '';
}

/** The path of the form of a user's company. Accounts with the role service cannot sign in. */
function formOf({ role, customerId }: Pick<User, 'customerId'> & Partial<User>, path: string | null): string | null {
  if (path === null || role === 'service') return null;
  return customerId === null ? path : `${path}/${customerId}`;
}

function signInLink(form: string | null): Html | null {
  return form === null ? null : html`<p><a class="button button-primary" href="${form}">Sign in</a></p>`;
}

/** `place`: the address of the sign-in page. */
function placeText(place: string | null): Html | null {
  return place === null
    ? null
    : html`<p class="hint">Your sign-in page: <a href="${place}">${place}</a>. Keep this address.</p>`;
}

type ShownForm = {
  readonly status: number;
  readonly user: User;
  readonly problems: readonly FieldProblem[];
  readonly place: string | null;
  readonly look: PageLook | null;
};

function formPage(pageReply: PageReply, { status, user: { userName }, problems, place, look }: ShownForm): Reply {
  const hint = html`
    ${CHOSEN_PASSWORD_MIN_LENGTH} to ${CHOSEN_PASSWORD_MAX_LENGTH} characters of any kind, spaces too. A few unrelated
    words are a good password.
  `;
  return pageReply(
    status,
    'Set your password',
    html`
      <form method="post" class="form">
        <div class="field">
          <label for="user">User name</label>
          <input id="user" value="${userName}" autocomplete="username" readonly>
        </div>
        ${passwordField('password', 'Password', hint, problems)}
        ${passwordField('passwordAgain', 'Password again', null, problems)}
        <div class="buttons form-buttons"><button class="button button-primary">Set password</button></div>
      </form>
      ${placeText(place)}
    `,
    look,
  );
}

/** No `maxlength`: browsers would silently truncate a longer password. */
function passwordField(name: string, label: string, hint: Html | null, problems: readonly FieldProblem[]): Html {
  const problem = problems.find(({ field }) => field === name)?.problem;
  const described = [...(hint === null ? [] : [`${name}-hint`]), ...(problem === undefined ? [] : [`${name}-problem`])];
  return html`
    <div class="field">
      <label for="${name}">${label}</label>
      ${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
      <input
        id="${name}"
        name="${name}"
        type="password"
        autocomplete="new-password"
        minlength="${CHOSEN_PASSWORD_MIN_LENGTH}"
        required
        ${attributes({ 'aria-describedby': described.length === 0 ? null : described.join(' ') })}
        aria-invalid="${String(problem !== undefined)}"
      >
      ${
        problem === undefined
          ? null
          : html`<p class="problem" id="${name}-problem" role="alert">${label} ${problem}.</p>`
      }
    </div>
  `;
}

/** For a wrong, used, expired, replaced or inactive invitation. */
function unusablePage(pageReply: PageReply, form: string | null, look: PageLook | null): Reply {
  const [title, text] = UNUSABLE;
  const content = html`
    <p>${text}</p>
    ${form === null ? null : html`<p>Already set your password? <a href="${form}">Sign in</a></p>`}
  `;
  return pageReply(404, title, content, look);
}

function refusalPage(pageReply: PageReply, { status, code, headers }: Refusal): Reply {
  const [title, text] = code === 'too_many_requests' ? TOO_MANY : FAILED;
  const reply = pageReply(status, title, html`<p>${text}</p>`);
  return { ...reply, headers: { ...headers, ...reply.headers } };
}

const UNUSABLE = [
  'This link cannot be used',
  `An invitation works once, and for ${INVITATION_HOURS} hours. A later one replaces it. ` +
    'Ask an administrator of your company for another one.',
] as const;
const TOO_MANY = ['Too many attempts', 'Wait a minute, then open the link again.'] as const;
const FAILED = ['That did not work', 'Open the link again and retry.'] as const;
