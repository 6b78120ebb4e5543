/** What a page is asked, and what it answers. */
import type { IncomingMessage } from 'node:http';
import type { PortalRole, SignedIn } from '../access/session.ts';
import { type Html, html } from '../http/html.ts';
import type { Reply } from '../http/route.ts';
import type { Acting } from '../resources/acting.ts';
import { FORGERY_FIELD } from './forgery.ts';

/** Set by hand, or as the system has it. */
export type Theme = 'light' | 'dark' | 'system';

/** A request to a page that anybody may open. */
export type OpenCall = {
  readonly request: IncomingMessage;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** What was posted; empty for GET. Names may stand several times. */
  readonly form: URLSearchParams;
  /** The path and query that were asked for. */
  readonly url: string;
  /** What every form of the page carries: put `${call.csrf}` inside each `<form method="post">`. */
  readonly csrf: Html;
  /** Asked for by the page's script, which wants a part of the page alone. */
  readonly isPartial: boolean;
  readonly theme: Theme;
  readonly now: number;
  readonly remoteAddress: string;
  /** Aborted when the client has gone, and for a stream when the server stops. */
  readonly signal: AbortSignal;
  /** The secret that this visitor's forms are bound to. */
  readonly visitor: string;
  /** Who is signed in, if anybody. */
  readonly session: SignedIn | null;
};

/** A request of somebody who is signed in and has the page's role. */
export type PageCall = OpenCall & {
  readonly session: SignedIn;
  readonly user: { readonly id: string; readonly userName: string; readonly displayName: string | null };
  readonly role: PortalRole;
  /** Who acts for the use cases: the user with its rights. */
  readonly acting: Acting;
  /** Whether this user may do what takes this role. Buttons for what it may not are left out. */
  may(role: PortalRole): boolean;
};

/** A page, put into the layout; `partial` alone for a request of the page's script. */
export type View = {
  readonly title: string;
  readonly content: Html;
  readonly partial?: Html;
  /** 200 unless said, or that of the refusal where `invalid` answers it. */
  readonly status?: number;
  /** Loads the chart script. */
  readonly hasCharts?: boolean;
};

/** 303 to another page of the portal, with a message that it shows. */
export type Redirect = { readonly redirect: string; readonly flash?: Flash; readonly cookies?: readonly string[] };
/** Anything else: a download, JSON, a stream (`eventStream`). */
export type Raw = { readonly reply: Reply };
export type PageResult = View | Redirect | Raw;

export type Flash = { readonly tone: 'positive' | 'negative'; readonly text: string };

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

/** Every role may do what those below it may. */
export function mayAct(has: PortalRole, takes: PortalRole): boolean {
  return RANK[has] >= RANK[takes];
}

/** A path of this site to go on to, or `/` for anything else that a link may have put there. */
export function ownPath(path: string | null): string {
  if (path === null || !path.startsWith('/') || /[\\\p{Cc}]/u.test(path)) return '/';
  const base = 'http://own.invalid';
  if (!URL.canParse(path, base)) return '/';
  const { origin, pathname, search } = new URL(path, base);
  return origin === base ? `${pathname}${search}` : '/';
}
