/** Who sends a request to a page: its session, and the look and the frames of the page that this leads to. */
import type { IncomingMessage } from 'node:http';
import { NO_THEME, type PortalTheme } from '../../domain/portal-theme.ts';
import type { SignedIn } from '../../domain/user.ts';
import type { Clock, Random } from '../../kernel/ids.ts';
import { originOf } from '../../kernel/url.ts';
import type { ReadCookie } from './cookie-values.ts';
import { type Cookies, readCustomerVisit, readRenewal, VISITOR_COOKIE } from './cookies.ts';
import type { SessionReader } from './current-session.ts';
import { type PageContext, requestContextOf, VISITOR_COOKIE_VALUE } from './request-context.ts';

/** The part of a page that is known before its visitor is. */
export type PagePlace = {
  /** The page's script requests it periodically, so it does not extend the session. */
  readonly isBackground?: boolean;
  /** A page without a session that belongs to the customers' portal: in its look, and shown in the same frames. */
  readonly isForCustomers?: boolean;
  /**
   * Whether it may be shown in frames; default: not, unless it is a page of a customer's session. It is shown as to a visitor without a
   * session, so that no page around it can show data of the operator.
   */
  readonly isFramable?: boolean;
};

export type RecognitionParts = {
  /** The customer whose portal it is; null: the operator's. Sessions of others count as none. */
  readonly customerId: string | null;
  readonly sessionOf: SessionReader;
  readonly random: Random;
  readonly clock: Clock;
  readonly cookies: Cookies;
  /** The origins that may show a customer's portal in a frame. */
  readonly frameAncestors: readonly string[];
  /** The look of the customers' portal. */
  readonly theme: () => Promise<PortalTheme>;
};

type Recognition = {
  /** The context of a request. Reads the session. */
  recognise(request: IncomingMessage, place: PagePlace): Promise<PageContext>;
  /** The context of a request that was recognised before, so that a later refusal gets the same layout. */
  recognised(request: IncomingMessage): PageContext | undefined;
  /** The context of a request whose session could not be read. The browser remembers whether it visits a customer's portal. */
  unrecognised(request: IncomingMessage, place: PagePlace): PageContext;
};

export function createRecognition({
  customerId,
  sessionOf,
  random,
  clock,
  cookies,
  frameAncestors,
  theme,
}: RecognitionParts): Recognition {
  const contexts = new WeakMap<IncomingMessage, PageContext>();

  const recognise = async (request: IncomingMessage, place: PagePlace): Promise<PageContext> => {
    const cookieOf = cookies.of(request);
    const found = await sessionOf.read(request, place.isBackground === true);
    const current = place.isFramable !== true && found?.session.customerId === customerId ? found : null;
    const session = current?.session ?? null;
    const cookie = current === null ? cookieOf(VISITOR_COOKIE) : current.token;
    const isNew = cookie === null || !VISITOR_COOKIE_VALUE.test(cookie);
    const isCustomers = customerId !== null || place.isForCustomers === true;
    const isFramable = place.isFramable === true || (customerId !== null && session !== null);
    const made = requestContextOf(
      request,
      session,
      isNew ? Buffer.from(random(32)).toString('base64url') : cookie,
      isNew,
      {
        brand: isCustomers ? await theme() : null,
        opener: current?.opener ?? null,
        cookieOf,
        now: clock(),
        frameAncestors,
        openings: {
          ancestors: isFramable ? frameAncestors : [],
          formTargets: session === null ? [] : formTargetsOf(session, cookieOf),
        },
      },
    );
    contexts.set(request, made);
    return made;
  };

  const unrecognised = (request: IncomingMessage, place: PagePlace): PageContext => {
    const cookieOf = cookies.of(request);
    const isCustomers = customerId !== null || place.isForCustomers === true || readCustomerVisit(cookieOf) !== null;
    // It shows nobody's data, so the pages that show a customer's portal may show it.
    const ancestors = isCustomers ? frameAncestors : [];
    return requestContextOf(request, null, '', false, {
      brand: isCustomers ? NO_THEME : null,
      opener: null,
      cookieOf,
      now: clock(),
      frameAncestors: ancestors,
      openings: { ancestors, formTargets: [] },
    });
  };

  return { recognise, recognised: (request) => contexts.get(request), unrecognised };
}

/** Where signing out of a session leads, and where its end does. */
function formTargetsOf({ returnUrl }: SignedIn, cookieOf: ReadCookie): string[] {
  const urls = [returnUrl === null ? null : new URL(returnUrl), readRenewal(cookieOf)?.url ?? null];
  return urls.flatMap((url) => (url === null ? [] : (originOf(url) ?? [])));
}
