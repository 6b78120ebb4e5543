/** The calls that the applications of customers may make, as links to the API reference. */
import type { ApiDocument, Operation } from '../../http/api-document.ts';
import { type Html, html } from '../../http/html.ts';

export const API_REFERENCE_PATH = '/api-reference';

export type ApiCall = {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  /** Null: it needs none. */
  readonly scope: string | null;
};

/** In the order of the document. */
export function apiCallsOf({ paths }: Pick<ApiDocument, 'paths'>): readonly ApiCall[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
      scope: scopeOf(operation),
    })),
  );
}

function scopeOf({ security = [] }: Operation): string | null {
  return security.flatMap((one) => Object.values(one).flat())[0] ?? null;
}

/** `Change a webhook (RFC 7396)` as `Change a webhook`. */
export function callTitle({ operation: { summary } }: ApiCall): string {
  return summary.replace(/ \(RFC \d+\)/, '').replace(/`/g, '');
}

function callLink(call: ApiCall): Html {
  return html`<a href="${API_REFERENCE_PATH}#${call.operation.operationId}">${callTitle(call)}</a>`;
}

/** Links to the calls that a scope opens; null if it opens none of these. */
export function callLinks(calls: readonly ApiCall[], scope: string): Html | null {
  const own = calls.filter((call) => call.scope === scope);
  return own.length === 0 ? null : html`${own.map((call, at) => html`${at === 0 ? '' : ', '}${callLink(call)}`)}`;
}
