/** The page for a visitor of the customers' portal without a session: in the operator's look, also in a frame. */
import { NO_THEME } from '../../domain/portal-theme.ts';
import { type Html, html } from '../../http/html.ts';
import type { OpenCall } from '../frame/call.ts';
import { FRAME_COOKIE, readCustomerVisit, readRenewal } from '../frame/cookies.ts';
import { SIGN_IN_PATH } from '../frame/request-context.ts';
import { brandMark, operatorName } from '../parts/brand.ts';
import { linkButton } from '../parts/header.ts';

type Visitor = Pick<OpenCall, 'brand' | 'isFramed' | 'cookieOf'>;

export type Why = {
  readonly title: string;
  readonly text: string | null;
  /** The text says what to do; a new link would not help. */
  readonly isFinal?: boolean;
  /** A session was here: the visitor knows the portal. */
  readonly isAgain?: boolean;
  /** The text says that a link works once. */
  readonly isOfLink?: boolean;
  /** The page of the operator's product that opens a new link. Null or absent: the one that the browser remembers. */
  readonly renewUrl?: string | null;
};

/**
 * `why` is the title, and a sentence before what to do. `hosts`: the origins of the operator's product. The script tells the page around a
 * frame, which may get a new link.
 */
export function wayInPage(visitor: Visitor, why: Why, hosts: readonly string[]): Html {
  const { brand, isFramed } = visitor;
  return html`
    <div class="sign-in" data-session-ended>
      ${isFramed ? null : html`<span class="brand">${brandMark(brand ?? NO_THEME)}</span>`}
      <h1>${why.title}</h1>
      ${why.text === null ? null : html`<p>${why.text}</p>`}
      ${why.isFinal === true ? null : isFramed ? inFrame(visitor, onlyHost(hosts)) : wayIn(visitor, why, onlyHost(hosts))}
    </div>
  `;
}

/** The origin of the operator's product; null if it can be another one. */
function onlyHost([origin = '', ...others]: readonly string[]): string | null {
  return others.length === 0 && URL.canParse(origin) && !origin.includes('*') ? origin : null;
}

/** The page around makes a new link when it is loaded. Only its origin is known: the button leads there. */
function inFrame({ brand }: Visitor, host: string | null): Html {
  return html`
    <p>Open it again from ${operatorName(brand ?? NO_THEME)}. Everything that you saved is still there.</p>
    ${
      host !== null
        ? html`
          <div class="buttons">
            <a class="button button-primary" href="${host}" target="_top">Open again</a>
            <span class="quiet">or reload the page in your browser</span>
          </div>
        `
        : html`<p>To go on, reload the page in your browser.</p>`
    }
  `;
}

function wayIn(
  { brand, cookieOf }: Visitor,
  { isAgain = false, isOfLink = false, renewUrl }: Why,
  host: string | null,
): Html {
  const operator = operatorName(brand ?? NO_THEME);
  const visit = readCustomerVisit(cookieOf);
  const renewal = renewUrl ?? readRenewal(cookieOf)?.url.href ?? null;
  const account =
    visit === null
      ? html`
        <p class="quiet">
          With an account of your own here, ask an administrator of your company for the address of its sign-in page, which
          is on their page <em>Users</em>, or for a new invitation.
        </p>
      `
      : html`
        <p class="or"><span>With an account of your own here</span></p>
        <div class="buttons form-buttons">
          ${linkButton({ href: `${SIGN_IN_PATH}/${visit.customerId}`, label: 'Sign in' })}
        </div>
      `;
  if (renewal !== null) {
    return html`
      <div class="buttons form-buttons">
        ${linkButton({ href: renewal, label: `Open it again from ${operator}`, kind: 'primary' })}
      </div>
      ${account}
    `;
  }
  const linked = (text: string): Html => (host === null ? html`${text}` : html`<a href="${host}">${text}</a>`);
  if (isAgain) return html`<p>Open this portal again from ${linked(`${operator}’s site`)}.</p>${account}`;
  return html`
    <div class="prose">
      <ol>
        <li>Go to ${linked(operator)}, and sign in there if it asks.</li>
        <li>Open its page about webhooks. It opens this portal for you, without another password.</li>
      </ol>
    </div>
    <p class="quiet">
      ${isOfLink ? 'If someone sent you the link, ask for a new one.' : 'If you followed a link: each works only once. Ask for a new one.'}
    </p>
    ${account}
  `;
}

/** Why a frame stays empty: the link sets a cookie, which outlives the session. */
export function keepsCookies({ isFramed, cookieOf }: Visitor): boolean {
  return !isFramed || cookieOf(FRAME_COOKIE) !== null;
}
