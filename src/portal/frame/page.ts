/**
 * Every request to a page goes through here: session, role, form token, the work of the page, and the layout around its content.
 * A refusal becomes a page of its own, or the form again with the problems beside its fields.
 */
import { z } from 'zod';
import type { SessionWatch } from '../../access/session-watch.ts';
import type { Config } from '../../config/config.ts';
import type { Storage } from '../../data/data.ts';
import type { Dispatcher } from '../../delivery/dispatcher.ts';
import type { TestOauth } from '../../delivery/oauth.ts';
import type { TestDelivery } from '../../delivery/trials/test-delivery.ts';
import { ADMIN_REQUEST_BYTES } from '../../domain/limits.ts';
import type { PortalRole, SignedIn } from '../../domain/user.ts';
import type { CustomersApiAt } from '../../http/customers-api.ts';
import type { Method, RefuseElsewhere, Reply, Route, ServedTo } from '../../http/route.ts';
import type { Clock, Ids, Random } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { AttemptFeed } from '../../observe/attempt-feed.ts';
import type { FigureKeeper } from '../../observe/figures.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { CustomerServices } from '../../services/customer-services.ts';
import type { Services } from '../../services/services.ts';
import { DatabaseUnavailable } from '../../store/port/errors.ts';
import type { Throttle } from '../../store/port/failures.ts';
import type { Store } from '../../store/port/store.ts';
import { mayAct, type OpenCall, type PageCall, type PageResult, toldIn } from './call.ts';
import { type Cookies, readCustomerVisit, SESSION_COOKIE } from './cookies.ts';
import { enterLive, eventStream, type StreamEvent, signedOutStream } from './event-stream.ts';
import { FORGERY_FIELD, forgeryProblem } from './forgery.ts';
import type { Layout } from './layout.ts';
import type { NavigationGroup } from './navigation.ts';
import { createRecognition, type PagePlace, type RecognitionParts } from './recognition.ts';
import { PageRefusal, refusalView, roleRefusal } from './refusal-page.ts';
import { createReplies } from './replies.ts';
import { openCallOf, type PageContext, pageCallOf, signInFirst, wantsPage } from './request-context.ts';
import type { Results } from './results.ts';

export type PageDefinition<C> = PagePlace & {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Of a form; default 1 MiB. */
  readonly maxBytes?: number;
  /** Only the page's script reads it: it gets a refusal as a line of text, which costs less than a page. */
  readonly isStream?: boolean;
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

type Respond = PageDefinition<PageCall>['respond'];

type PageFor<Whom extends ServedTo> = <For extends Whom>(
  path: string,
  whom: For,
  role: PortalRole,
  respond: Respond | Omit<PageDefinition<PageCall>, 'method' | 'path'>,
) => PageRoute<For>;

/**
 * Makes pages. Each page says whom it serves. `Whom` is what a file may choose from: a file with the operator's services makes no page
 * that customers have too.
 */
export type Pages<Whom extends ServedTo = ServedTo> = {
  /** A page for signed-in users with at least this role. */
  readonly page: PageFor<Whom>;
  /** The target of a form or a button, for signed-in users with at least this role. */
  readonly act: PageFor<Whom>;
  /** A page for every signed-in user. */
  readonly view: <For extends Whom>(path: string, whom: For, respond: Respond) => PageRoute<For>;
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

type Dependencies = RecognitionParts & {
  /** The scopes that administrators of customers hold. */
  readonly offered: () => readonly string[];
  readonly sessionWatch: SessionWatch;
  readonly clock: Clock;
  readonly layout: Layout;
  /** The host that clients use; null if unknown. */
  readonly publicHost: () => string | null;
};

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
  const { recognise, recognised, unrecognised } = createRecognition(dependencies);
  const { answer, redirect, show } = createReplies(dependencies);

  const refuse = (place: PagePlace): NonNullable<Route['refuse']> => {
    return (refusal, request, errorId) => {
      const context = recognised(request) ?? unrecognised(request, place);
      const isSignedIn = context.session !== null || context.cookieOf(SESSION_COOKIE) !== null;
      const visit = { errorId, isSignedIn, path: context.path, brand: context.brand };
      const reply = show(refusalView(toldIn(context, refusal), visit), request, context, refusal.status);
      return { ...reply, headers: { ...refusal.headers, ...reply.headers } };
    };
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
      // An outage is a page of its own: the form needs the database too, and the server logs it under the number that the page shows.
      if (!(error instanceof Refusal) || error instanceof DatabaseUnavailable) throw error;
      const again = (await invalid?.(call, toldIn(context, error))) ?? null;
      if (again === null) throw error;
      const reply = await answer(again, call.request, context, error.status);
      return { ...reply, headers: { ...error.headers, ...reply.headers } };
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
      knowsReader: true,
      refuse: isStream ? refuseStream : refuse(definition),
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
        const place = { isBackground: true, isForCustomers: readCustomerVisit(cookies.of(request)) !== null };
        await recognise(request, place).catch(() => undefined);
        return refuse(place)(refusal, request, errorId) ?? refusal;
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

  const pageFor = (method: 'GET' | 'POST'): Pages['page'] => {
    return (path, whom, role, respond) => {
      const definition = typeof respond === 'function' ? { respond } : respond;
      return route({ ...definition, for: whom, method, path }, role, (session) => {
        if (session === null) return null;
        if (!mayAct(session.role, role)) throw roleRefusal(role, session);
        return (call) => pageCallOf(call, session, offered());
      });
    };
  };
  const page = pageFor('GET');
  const act = pageFor('POST');

  return {
    page,
    act,
    view: (path, whom, respond) => page(path, whom, 'viewer', respond),
    stream: (path, whom, source) =>
      page(path, whom, 'viewer', {
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
      page(path, whom, 'administrator', show),
      act(path, whom, 'administrator', sent),
    ],
    openPage: (definition) => route({ for: 'anyone', ...definition }, null, () => (call) => call),
    elsewhere,
  };
}

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
  /** The description of what the applications of customers may call. */
  readonly customersApi: CustomersApiAt;
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
  /** The pages that the navigation of this portal leads to. */
  readonly navigation: () => readonly NavigationGroup[];
  /** How long deliveries are kept; 0: forever. */
  readonly kept: { readonly deliveredDays: number; readonly deadDays: number };
};

/** The dependencies of files with pages of the operator. */
export type PageDependencies<Whom extends ServedTo = 'operator'> = PortalDependencies & Surroundings<Whom>;

/** The dependencies of files with pages that customers have too, over the part of the service of the operator or of one customer. */
export type SharedPageDependencies<Whom extends ServedTo = 'both'> = CustomerServices &
  Pick<PortalDependencies, 'offered' | 'customersApi' | 'clock' | 'throttle' | 'publicUrl' | 'egressAddresses'> &
  Surroundings<Whom>;
