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
  /** The look of the customers' portal. */
  readonly customersLook: () => Promise<PageLook>;
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
  return actionRoute('users', 'invite', 'Make a one-time link by which the user sets a password', {
    for: 'both',
    operationId: 'inviteUser',
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
  const { invitations, signInPath, signInInvited, customersLook } = dependencies;
  const pageReply = createPageReply(dependencies.stylesheet);
  /** The invited user. Throws 404 without the reason. Tries are not counted: nobody guesses 256 random bits. */
  const invited = async (call: Call): Promise<User> => {
    const user = await invitations.find(tokenOf(call));
    if (user === null) throw new Refusal('not_found', 'this invitation cannot be used');
    return user;
  };
  const lookOf = async ({ customerId }: User): Promise<PageLook | null> =>
    customerId === null ? null : customersLook();
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
      respond: async (call) => {
        const user = await invited(call);
        return formPage(pageReply, 200, user, [], await lookOf(user));
      },
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
      respond: async (call) => {
        const user = await invited(call);
        let changed: User;
        try {
          changed = await invitations.accept(tokenOf(call), validate(passwordForm, call.body));
        } catch (error) {
          if (!(error instanceof Refusal) || error.code !== 'validation_failed') throw error;
          return formPage(pageReply, error.status, user, error.details ?? [], await lookOf(user));
        }
        const signedIn = await signInInvited(changed, call);
        if (signedIn !== null) return signedIn;
        return pageReply(
          200,
          'Your password is set',
          html`
            <p>It is now the password of <strong>${user.userName}</strong>. The link is used and no longer works.</p>
            ${signInLink(user, signInPath())}
          `,
          await lookOf(user),
        );
      },
    },
  ];
}

function tokenOf({ params }: Call): string {
  return params.token ?? '';
}

/** Accounts with the role service cannot sign in. */
function signInLink({ role, customerId }: User, path: string | null): Html | null {
  if (path === null || role === 'service') return null;
  const form = customerId === null ? path : `${path}/${customerId}`;
  return html`<p><a class="button button-primary" href="${form}">Sign in</a></p>`;
}

function formPage(
  pageReply: PageReply,
  status: number,
  { userName }: User,
  problems: readonly FieldProblem[],
  look: PageLook | null,
): Reply {
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
        ${passwordField('passwordAgain', 'The same again', null, problems)}
        <div class="buttons form-buttons"><button class="button button-primary">Set password</button></div>
      </form>
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

/** The same reply for a wrong, used, expired, replaced or inactive invitation. */
function refusalPage(pageReply: PageReply, { status, code, headers }: Refusal): Reply {
  const [title, text] = code === 'not_found' ? UNUSABLE : code === 'too_many_requests' ? TOO_MANY : FAILED;
  const reply = pageReply(status, title, html`<p>${text}</p>`);
  return { ...reply, headers: { ...headers, ...reply.headers } };
}

const UNUSABLE = [
  'This link cannot be used',
  `An invitation works once, and for ${INVITATION_HOURS} hours. Ask for another one.`,
] as const;
const TOO_MANY = ['Too many attempts', 'Wait a minute, then open the link again.'] as const;
const FAILED = ['That did not work', 'Open the link again and retry.'] as const;
