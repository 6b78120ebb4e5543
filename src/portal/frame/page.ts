/**
 * Every request to a page goes through here: session, role, form token, the work of the page, and the layout around its content.
 * A refusal becomes a page of its own, or the form again with the problems beside its fields.
 */

import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { SessionWatch } from '../../access/session-watch.ts';
import type { Config } from '../../config/config.ts';
import type { Storage } from '../../data/data.ts';
import type { Dispatcher } from '../../delivery/dispatcher.ts';
import type { TestOauth } from '../../delivery/oauth.ts';
import type { TestDelivery } from '../../delivery/test-delivery.ts';
import { ADMIN_REQUEST_BYTES } from '../../domain/limits.ts';
import type { PortalTheme } from '../../domain/portal-theme.ts';
import type { PortalRole, SignedIn } from '../../domain/user.ts';
import { answerable } from '../../http/error-body.ts';
import type { Method, RefuseElsewhere, Reply, Route, ServedTo } from '../../http/route.ts';
import type { Clock, Ids, Random } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import { originOf } from '../../kernel/origin.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { AttemptFeed } from '../../observe/attempt-feed.ts';
import type { FigureKeeper } from '../../observe/figures.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { CustomerServices } from '../../services/customer-services.ts';
import type { Services } from '../../services/services.ts';
import type { Throttle } from '../../store/port/failures.ts';
import type { Store } from '../../store/port/store.ts';
import { mayAct, type OpenCall, type PageCall, type PageResult } from './call.ts';
import type { ReadCookie } from './cookie-values.ts';
import { type Cookies, readCustomerVisit, readRenewal, SESSION_COOKIE, VISITOR_COOKIE } from './cookies.ts';
import type { SessionReader } from './current-session.ts';
import { enterLive, eventStream, type StreamEvent, signedOutStream } from './event-stream.ts';
import { FORGERY_FIELD, forgeryProblem } from './forgery.ts';
import type { Layout } from './layout.ts';
import { PageRefusal, refusalView, roleRefusal } from './refusal-page.ts';
import { createReplies } from './replies.ts';
import {
  type Circumstances,
  openCallOf,
  type PageContext,
  pageCallOf,
  requestContextOf,
  signInFirst,
  VISITOR_COOKIE_VALUE,
  wantsPage,
} from './request-context.ts';
import type { Results } from './results.ts';

export type PageDefinition<C> = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Of a form; default 1 MiB. */
  readonly maxBytes?: number;
  /** The page's script requests it periodically, so it does not extend the session. */
  readonly isBackground?: boolean;
  /** Only the page's script reads it: it gets a refusal as a line of text, which costs less than a page. */
  readonly isStream?: boolean;
  /** A page without a session that belongs to the customers' portal: in its look, and shown in the same frames. */
  readonly isForCustomers?: boolean;
  /**
   * Whether it may be shown in frames; default: not, unless it is a page of a customer's session. It is shown as to a visitor without a
   * session, so that no page around it can show data of the operator.
   */
  readonly isFramable?: boolean;
  /** The reply to the page's script without a session, instead of a redirect to sign in. */
  readonly signedOut?: () => Reply;
  respond(call: C): Promise<PageResult>;
  /** Shows a refused form again. Without it, or if it returns null, the refusal is a page of its own. */
  invalid?(call: C, refusal: Refusal): Promise<PageResult | null>;
};

/** `show` shows the form, `respond` handles the form that was sent, `invalid` shows a refused form again. */
export type FormDefinition = Pick<PageDefinition<PageCall>, 'respond' | 'invalid'> & {
  show(call: PageCall): Promise<PageResult>;
};

/**
 * Makes pages. Each page says whom it serves. `Whom` is what a file may choose from: a file with the operator's services makes no page
 * that customers have too.
 */
export type Pages<Whom extends ServedTo = ServedTo> = {
  /** A page for signed-in users with at least this role. */
  readonly page: <For extends Whom>(
    definition: PageDefinition<PageCall> & { readonly for: For; readonly role: PortalRole },
  ) => PageRoute<For>;
  /** A page for every signed-in user. */
  readonly view: <For extends Whom>(
    path: string,
    whom: For,
    respond: (call: PageCall) => Promise<PageResult>,
  ) => PageRoute<For>;
  /**
   * Live updates for every signed-in user; without a session, the event `signed-out`. The page's script reconnects automatically and would
   * take any other reply for a stream that just ended.
   */
  readonly stream: <For extends Whom>(
    path: string,
    whom: For,
    source: (call: PageCall) => AsyncIterable<StreamEvent> | Promise<AsyncIterable<StreamEvent>>,
  ) => PageRoute<For>;
  /** A form for administrators. It is sent to the path that shows it. */
  readonly form: <For extends Whom>(path: string, whom: For, definition: FormDefinition) => PageRoute<For>[];
  /** A public page, for anyone. */
  readonly openPage: (definition: PageDefinition<OpenCall>) => PageRoute<'anyone'>;
  /** Shows refusals of unknown paths as pages to browsers, in the layout of their session. */
  readonly elsewhere: RefuseElsewhere;
};

/** The role of a page, and whether the script requests it; tests read both. */
export type PageRoute<For extends ServedTo = ServedTo> = Route<For> & {
  readonly role: PortalRole | null;
  readonly isBackground: boolean;
};

type Dependencies = {
  /** The customer whose portal it is; null: the operator's. Sessions of others count as none. */
  readonly customerId: string | null;
  /** The scopes that administrators of customers hold. */
  readonly offered: () => readonly string[];
  readonly sessionOf: SessionReader;
  readonly sessionWatch: SessionWatch;
  readonly clock: Clock;
  readonly random: Random;
  readonly layout: Layout;
  readonly cookies: Cookies;
  /** The host that clients use; null if unknown. */
  readonly publicHost: () => string | null;
  /** The origins that may show a customer's portal in a frame. */
  readonly frameAncestors: readonly string[];
  /** The look of the customers' portal. */
  readonly theme: () => Promise<PortalTheme>;
};

type Place = Pick<PageDefinition<never>, 'isBackground' | 'isForCustomers' | 'isFramable'>;

type Recognition = {
  /** The context of a request. Reads the session. */
  recognise(request: IncomingMessage, place: Place): Promise<PageContext>;
  /** The context of a request that was recognised before, so that a later refusal gets the same layout. */
  recognised(request: IncomingMessage): PageContext | undefined;
};

function createRecognition({
  customerId,
  sessionOf,
  random,
  cookies,
  frameAncestors,
  theme,
}: Dependencies): Recognition {
  const contexts = new WeakMap<IncomingMessage, PageContext>();

  const recognise = async (request: IncomingMessage, place: Place): Promise<PageContext> => {
    const cookieOf = cookies.of(request);
    const signedIn = await sessionOf.read(request, place.isBackground === true);
    const current = place.isFramable !== true && signedIn?.session.customerId === customerId ? signedIn : null;
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

  return { recognise, recognised: (request) => contexts.get(request) };
}

/** Where signing out of a session leads, and where its end does. */
function formTargetsOf({ returnUrl }: SignedIn, cookieOf: ReadCookie): string[] {
  const urls = [returnUrl === null ? null : new URL(returnUrl), readRenewal(cookieOf)?.url ?? null];
  return urls.flatMap((url) => (url === null ? [] : (originOf(url) ?? [])));
}

type Enter<C> = (session: SignedIn | null) => ((call: OpenCall) => C) | null;

type Routes = {
  /** `enter` makes the call of a session; null if the visitor has to sign in first. */
  route<C extends OpenCall, For extends ServedTo>(
    definition: PageDefinition<C> & { readonly for: For },
    role: PortalRole | null,
    enter: Enter<C>,
  ): PageRoute<For>;
  readonly elsewhere: RefuseElsewhere;
};

function createRoutes(dependencies: Dependencies): Routes {
  const { clock, cookies, publicHost } = dependencies;
  const { recognise, recognised } = createRecognition(dependencies);
  const { answer, redirect, show } = createReplies(dependencies);

  const refuse: NonNullable<Route['refuse']> = (refusal, request, errorId) => {
    const context =
      recognised(request) ?? requestContextOf(request, null, '', false, { ...UNKNOWN, cookieOf: cookies.of(request) });
    const isSignedIn = context.session !== null || context.cookieOf(SESSION_COOKIE) !== null;
    const visit = { errorId, isSignedIn, path: context.path, isCustomers: context.brand !== null };
    const reply = show(refusalView(refusal, visit), request, context, refusal.status);
    return { ...reply, headers: { ...refusal.headers, ...reply.headers } };
  };

  /** The reply of the page, or its form again with the problems. */
  const replyOf = async <C extends OpenCall>(
    { respond, invalid }: PageDefinition<C>,
    call: C,
    context: PageContext,
  ): Promise<Reply> => {
    try {
      return await answer(await respond(call), call.request, context, 200);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const again = (await invalid?.(call, error)) ?? null;
      if (again === null) throw error;
      const reply = await answer(again, call.request, context, error.status);
      return { ...reply, headers: { ...answerable(error).headers, ...reply.headers } };
    }
  };

  const route: Routes['route'] = (definition, role, enter) => {
    const { for: whom, method, path, maxBytes = ADMIN_REQUEST_BYTES, isBackground = false, signedOut } = definition;
    const { isStream = false } = definition;
    const isForm = method === 'POST';
    return {
      for: whom,
      method: method satisfies Method,
      path,
      role,
      isBackground,
      access: 'open',
      tag: 'portal',
      summary: path,
      freeQuery: true,
      replies: {},
      ...(isForm && { body: { ...FORM, maxBytes } }),
      refuse: isStream ? refuseStream : refuse,
      ...(isForm && {
        admit: async (request) => {
          const context = await recognise(request, definition);
          return enter(context.session) === null ? redirect(signInFirst(request, context), request, context) : null;
        },
      }),
      respond: async (call) => {
        const { request } = call;
        // Again for a form: the session may have ended while its body arrived.
        const context = await recognise(request, definition);
        const callOf = enter(context.session);
        if (callOf === null) {
          if (context.isPartial && signedOut !== undefined) return signedOut();
          return redirect(signInFirst(request, context), request, context);
        }
        const open = openCallOf(call, context, clock());
        const full = callOf(open);
        if (isForm) checkForm(open, context, publicHost());
        return replyOf(definition, full, context);
      },
    };
  };

  return {
    route,
    elsewhere: {
      refuse: async (refusal, request, errorId) => {
        if (!wantsPage(request)) return refusal;
        // Without the session, for example while the database is away, it is shown as to a visitor.
        const isForCustomers = readCustomerVisit(cookies.of(request)) !== null;
        await recognise(request, { isBackground: true, isForCustomers }).catch(() => undefined);
        return refuse(refusal, request, errorId) ?? refusal;
      },
    },
  };
}

const refuseStream: NonNullable<Route['refuse']> = ({ status, code, headers }) => ({
  status,
  headers: { ...headers, 'Content-Type': 'text/plain;charset=UTF-8' },
  body: `${code}\n`,
});

/** Throws unless the form was made for this browser. */
function checkForm({ request, form }: OpenCall, { isNew, cookie }: PageContext, publicHost: string | null): void {
  if (isNew) throw new PageRefusal('no cookie', 'the browser did not send the session cookie');
  const problem = forgeryProblem(request, form.get(FORGERY_FIELD), cookie, publicHost);
  if (problem !== null) throw new PageRefusal('form', problem);
}

export function createPages(dependencies: Dependencies): Pages {
  const { customerId, offered, sessionWatch } = dependencies;
  const { route, elsewhere } = createRoutes(dependencies);

  const page: Pages['page'] = ({ role, ...definition }) =>
    route(definition, role, (session) => {
      if (session === null) return null;
      if (!mayAct(session.role, role)) throw roleRefusal(role, session);
      return (call) => pageCallOf(call, session, offered());
    });

  return {
    page,
    view: (path, whom, respond) => page({ for: whom, method: 'GET', path, role: 'viewer', respond }),
    stream: (path, whom, source) =>
      page({
        for: whom,
        method: 'GET',
        path,
        role: 'viewer',
        isBackground: true,
        isStream: true,
        signedOut: signedOutStream,
        respond: async (call) => {
          await enterLive(customerId, call.session.id, call.signal);
          const tokens = [call.visitor, ...(call.opener === null ? [] : [call.opener.token])];
          const ended = AbortSignal.any(tokens.map((token) => sessionWatch.ended(token, call.signal)));
          return { reply: eventStream(call, ended, await source(call)) };
        },
      }),
    form: (path, whom, { show, ...sent }) => [
      page({ for: whom, method: 'GET', path, role: 'administrator', respond: show }),
      page({ for: whom, method: 'POST', path, role: 'administrator', ...sent }),
    ],
    openPage: (definition) => route({ for: 'anyone', ...definition }, null, () => (call) => call),
    elsewhere,
  };
}

/** The surroundings of a request for a path without a page. */
const UNKNOWN: Omit<Circumstances, 'cookieOf'> = {
  brand: null,
  opener: null,
  frameAncestors: [],
  openings: { ancestors: [], formTargets: [] },
};

const FORM = {
  types: ['application/x-www-form-urlencoded'],
  repeats: true,
  // OpenAPI does not describe pages.
  schema: z.unknown(),
} as const;

export type PortalDependencies = {
  /** The portal of one customer, made over its part of the service. */
  readonly ofCustomer: (customerId: string) => CustomerServices;
  readonly offered: () => readonly string[];
  readonly services: Services;
  readonly store: Store;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly figures: FigureKeeper;
  readonly feed: AttemptFeed;
  readonly dispatcher: Dispatcher;
  readonly testDelivery: TestDelivery;
  readonly testOauth: TestOauth;
  /** Of sign-ins. */
  readonly throttle: Throttle;
  readonly config: Config;
  /** From where deliveries come, for firewalls. */
  readonly egressAddresses: readonly string[];
  /** The URL that clients use; null if unknown. */
  readonly publicUrl: () => string | null;
};

type Surroundings<Whom extends ServedTo> = {
  readonly pages: Pages<Whom>;
  readonly cookies: Cookies;
  readonly results: Results;
  /** Whether the portal has a page at this path, as registered (`/endpoints/{id}`). Links to other paths are omitted. */
  hasPage(path: string): boolean;
  /** How long deliveries are kept; 0: forever. */
  readonly kept: { readonly deliveredDays: number; readonly deadDays: number };
};

/** The dependencies of files with pages of the operator. */
export type PageDependencies<Whom extends ServedTo = 'operator'> = PortalDependencies & Surroundings<Whom>;

/** The dependencies of files with pages that customers have too, over the part of the service of the operator or of one customer. */
export type SharedPageDependencies<Whom extends ServedTo = 'both'> = CustomerServices &
  Pick<PortalDependencies, 'offered' | 'clock' | 'throttle' | 'publicUrl' | 'egressAddresses'> &
  Surroundings<Whom>;
