/** The request to a page, and its result. */
import type { IncomingMessage } from 'node:http';
import type { Acting } from '../../domain/acting.ts';
import type { PortalTheme } from '../../domain/portal-theme.ts';
import type { PortalRole, SignedIn } from '../../domain/user.ts';
import { withoutRemedies } from '../../http/error-body.ts';
import { type Html, html } from '../../http/html.ts';
import type { Reply } from '../../http/route.ts';
import { Refusal, type RefusalCode } from '../../kernel/refusal.ts';
import { reasonOf, sentence } from '../parts/text.ts';
import type { Flash, ReadCookie } from './cookie-values.ts';
import { FORGERY_FIELD } from './forgery.ts';

/** Chosen by the user, or that of the operating system. */
export type Theme = 'light' | 'dark' | 'system';

/** An operator's user who looks at a customer's portal, and the token of this user's own session. */
export type Opener = { readonly userId: string | null; readonly name: string; readonly token: string };

/** A request to a public page. */
export type OpenCall = {
  readonly request: IncomingMessage;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The posted form; empty for GET. Names may repeat. */
  readonly form: URLSearchParams;
  /** The requested path and query. */
  readonly url: string;
  /** The form token: put `${call.csrf}` inside each `<form method="post">`. */
  readonly csrf: Html;
  /** The page's script asks for a part of the page only. */
  readonly isPartial: boolean;
  readonly theme: Theme;
  readonly now: number;
  readonly remoteAddress: string;
  /** Aborted when the client has gone, and for a stream when the server stops. */
  readonly signal: AbortSignal;
  readonly cookieOf: ReadCookie;
  /** The secret that this visitor's forms are bound to. */
  readonly visitor: string;
  /** The session, or null if nobody is signed in. */
  readonly session: SignedIn | null;
  /** The operator's user who looks at the customer's portal; null otherwise. */
  readonly opener: Opener | null;
  /** The look of the customers' portal; null in the operator's. */
  readonly brand: PortalTheme | null;
  /** Whether the portal is shown inside a page of the operator's product. */
  readonly isFramed: boolean;
  /** The origins that this page may have. */
  readonly frameAncestors: readonly string[];
};

/** A request of a signed-in user with the page's role. */
export type PageCall = OpenCall & {
  readonly session: SignedIn;
  /** `id` is null for a session that began with a portal link. */
  readonly user: { readonly id: string | null; readonly userName: string; readonly displayName: string | null };
  readonly role: PortalRole;
  /** The user with its rights, for the use cases. */
  readonly acting: Acting;
  /** Whether the user has this role or a higher one. Pages omit buttons that the user may not use. */
  may(role: PortalRole): boolean;
};

/** A page inside the layout. The page's script gets only `partial`. */
export type View = {
  readonly title: string;
  readonly content: Html;
  readonly partial?: Html;
  /** Default: 200, or the status of the refusal that `invalid` answers. */
  readonly status?: number;
  /** The path of the page that this one is about, if its own path does not say its section. */
  readonly about?: string;
  /** Loads the chart script. */
  readonly hasCharts?: boolean;
  /** The look of a page without a session that is for people of both portals. */
  readonly brand?: PortalTheme | null;
};

/** 303 to another page of the portal, with a message that it shows. */
export type Redirect = { readonly redirect: string; readonly flash?: Flash; readonly cookies?: readonly string[] };
/** Anything else: a download, JSON, a stream (`eventStream`). */
export type Raw = { readonly reply: Reply };
export type PageResult = View | Redirect | Raw;

export function redirectTo(path: string, done?: string): Redirect {
  return { redirect: path, ...(done !== undefined && { flash: { tone: 'positive', text: done } }) };
}

/** The `{id}` of the page's path. */
export function pathId({ params }: Pick<OpenCall, 'params'>): string {
  return params.id ?? '';
}

export function forgeryField(token: string): Html {
  return html`<input type="hidden" name="${FORGERY_FIELD}" value="${token}">`;
}

const RANK: Readonly<Record<PortalRole, number>> = { viewer: 0, operator: 1, administrator: 2 };

/** A role includes the lower ones. */
export function mayAct(has: PortalRole, takes: PortalRole): boolean {
  return RANK[has] >= RANK[takes];
}

/** A path of this site to go on to. Anything else that a link may contain becomes `/`. */
export function ownPath(path: string | null): string {
  if (path === null || !path.startsWith('/') || /[\\\p{Cc}]/u.test(path)) return '/';
  const base = 'http://own.invalid';
  if (!URL.canParse(path, base)) return '/';
  const { origin, pathname, search } = new URL(path, base);
  return origin === base ? `${pathname}${search}` : '/';
}

/** Redirects to `path` with `done`, or to `otherwise` with the reason of a refusal. 404, 412 and 503 stay. */
export async function attempted(
  path: string,
  done: string,
  work: () => Promise<unknown>,
  otherwise: string = path,
): Promise<Redirect> {
  return orBack(otherwise, async () => {
    await work();
    return redirectTo(path, done);
  });
}

/** The result of `work`, or a redirect to `path` with the reason of a refusal. 404, 412 and 503 stay. */
export async function orBack(path: string, work: () => Promise<Redirect>): Promise<Redirect> {
  try {
    return await work();
  } catch (error) {
    const back = error instanceof Refusal ? refusedBack(path, error) : null;
    if (back === null) throw error;
    return back;
  }
}

/** A redirect to `path` with the reason of a refusal; null for 404, 412 and 503, which are pages of their own. */
export function refusedBack(path: string, refusal: Refusal): Redirect | null {
  return OWN_PAGES.has(refusal.code) ? null : refusedTo(path, reasonOf(refusal));
}

/** Returns the record, or null for a refusal with 404. */
export async function ifFound<Found>(found: Promise<Found>): Promise<Found | null> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return null;
    throw error;
  }
}

/** The refusal that was caught. Throws any other error, and 503, which is a page of its own. */
export function caught(error: unknown): Refusal {
  if (error instanceof Refusal && error.code !== 'unavailable') return error;
  throw error;
}

/** The reason of a refusal, for the message about the work before it. */
export function reasonIn(call: Pick<OpenCall, 'brand'>, refusal: Refusal): string {
  return sentence(reasonOf(toldIn(call, refusal)));
}

/**
 * Leads to a record that was made although the step after it was refused, with the reason. `made`: `Orders was created`; `missing`:
 * `started`. Throws any other error.
 */
export function madeWithout(
  call: Pick<OpenCall, 'brand'>,
  error: unknown,
  { path, made, missing }: { readonly path: string; readonly made: string; readonly missing: string },
): Redirect {
  if (!(error instanceof Refusal)) throw error;
  const isMissing = error.repeat !== 'after a look';
  const text = `${made}${isMissing ? ` but not ${missing}` : ''}. ${reasonIn(call, error)}`;
  return { redirect: path, flash: { tone: 'negative', text } };
}

/** The refusal as the people of this portal read it: those of a customer know nothing of the database. */
export function toldIn({ brand }: Pick<OpenCall, 'brand'>, refusal: Refusal): Refusal {
  return brand === null ? refusal : withoutRemedies(refusal);
}

const OWN_PAGES: ReadonlySet<RefusalCode> = new Set(['not_found', 'precondition_failed', 'unavailable']);

/** Redirects to a page with the reason of a refusal. */
export function refusedTo(path: string, reason: string): Redirect {
  return { redirect: path, flash: { tone: 'negative', text: sentence(reason) } };
}
