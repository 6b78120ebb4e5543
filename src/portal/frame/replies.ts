/** Turns the result of a page into its reply: the page in its layout, a part of it, or a redirect with a message. */
import type { IncomingMessage } from 'node:http';
import type { Reply } from '../../http/route.ts';
import type { PageResult, Redirect, View } from './call.ts';
import {
  type Cookies,
  clearedFlash,
  FLASH_COOKIE,
  readFlash,
  setCookie,
  VISITOR_COOKIE,
  writeFlash,
} from './cookies.ts';
import { PAGE_HEADERS, packed, pageHeaders } from './headers.ts';
import type { Layout } from './layout.ts';
import type { PageContext } from './request-context.ts';

export type Replies = {
  /** The reply to a result. `status` is that of a page that names none. Compressed if the browser accepts it. */
  answer(result: PageResult, request: IncomingMessage, context: PageContext, status: number): Promise<Reply>;
  redirect(to: Redirect, request: IncomingMessage, context: PageContext): Reply;
  show(view: View, request: IncomingMessage, context: PageContext, status: number): Reply;
};

type Dependencies = { readonly customerId: string | null; readonly layout: Layout; readonly cookies: Cookies };

export function createReplies({ customerId, layout, cookies }: Dependencies): Replies {
  const answer = async (
    result: PageResult,
    request: IncomingMessage,
    context: PageContext,
    status: number,
  ): Promise<Reply> => {
    if ('reply' in result) return result.reply;
    if ('redirect' in result) return redirect(result, request, context);
    return packed(request, show(result, request, context, status), customerId);
  };

  /** Cookies of a portal in a frame are kept apart for the page around it. */
  const placedHeader = (set: readonly string[], request: IncomingMessage, { frameAncestors: around }: PageContext) =>
    set.length === 0 ? {} : { 'Set-Cookie': cookies.placed(set, request, around.length > 0) };

  /** The page's script cannot follow a redirect to another page, so a header tells it to. */
  const redirect = (
    { redirect: to, flash, cookies: more = [] }: Redirect,
    request: IncomingMessage,
    context: PageContext,
  ): Reply => {
    const { cookie, isPartial } = context;
    // Escapes characters that an id in the path may contain.
    const { pathname, search, hash } = new URL(to, 'http://own.invalid');
    const path = pathname + search + hash;
    const set = [...more, ...(flash === undefined ? [] : [writeFlash(cookie, flash)])];
    const headers = { ...PAGE_HEADERS, ...placedHeader(set, request, context) };
    return isPartial
      ? { status: 200, headers: { ...headers, 'HX-Redirect': path }, body: '' }
      : { status: 303, headers: { ...headers, Location: path }, body: '' };
  };

  const show = (view: View, request: IncomingMessage, context: PageContext, status: number): Reply => {
    const common = pageHeaders(request, context.openings);
    if (context.isPartial && view.partial !== undefined) {
      return { status: view.status ?? status, headers: common, body: view.partial.markup };
    }
    const sealed = context.cookieOf(FLASH_COOKIE);
    const set = [
      ...(context.isNew && context.session === null ? [setCookie(VISITOR_COOKIE, context.cookie)] : []),
      ...(sealed === null ? [] : [clearedFlash()]),
    ];
    const flash = readFlash(sealed, context.cookie);
    const headers = { ...common, ...placedHeader(set, request, context) };
    return { status: view.status ?? status, headers, body: layout(view, { ...context, flash }) };
  };

  return { answer, redirect, show };
}
