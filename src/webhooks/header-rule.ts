/** Which headers an endpoint may add to requests (contract §12.5): each header has one source, and secrets stay with their server. */

import { currentAuthentication, type Endpoint } from '../domain/endpoint.ts';
import { authenticationHeader } from '../domain/endpoint-headers.ts';
import { PAGE_MAX } from '../domain/limits.ts';
import type { CustomHeader, SignatureTemplate } from '../domain/webhook.ts';
import { type FieldProblem, refuseFields } from '../kernel/refusal.ts';
import { everyRow } from '../store/port/resource.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import { AUTHENTICATION_MEMBERS } from './endpoint-authentication.ts';
import { templateHeaders } from './signature-schema.ts';

/** Refuses headers that have two sources, and secrets that would go to another server. */
export async function refuseHeaders(
  store: Pick<WebhookVerbs, 'webhooks'>,
  endpoint: Endpoint,
  before: Endpoint | null,
): Promise<void> {
  const problems = [...sourceProblems(endpoint), ...sentElsewhereProblems(endpoint, before)];
  const names = before === null ? new Set<string>() : ownHeaderNames(endpoint);
  const old = before === null ? new Set<string>() : ownHeaderNames(before);
  const added = [...names].filter((name) => !old.has(name));
  const taken = added.length === 0 ? null : await webhookHeader(store, endpoint.id, new Set(added));
  if (taken !== null) {
    const at = (endpoint.requestHeaders ?? []).findIndex(({ name }) => name.toLowerCase() === taken.name);
    const field = at < 0 ? 'authentication.name' : `requestHeaders[${at}].name`;
    problems.push({ field, problem: `${taken.name} is set by the webhook ${taken.webhook}` });
  }
  if (problems.length > 0) throw refuseFields(problems);
}

/** Whether the endpoint has a header that it did not have before. */
export function addsHeaders(endpoint: Endpoint, before: Endpoint): boolean {
  const old = ownHeaderNames(before);
  return [...ownHeaderNames(endpoint)].some((name) => !old.has(name));
}

/** The first header of these names that a webhook of the endpoint sets, or null. */
async function webhookHeader(
  store: Pick<WebhookVerbs, 'webhooks'>,
  endpointId: string,
  names: ReadonlySet<string>,
): Promise<{ readonly name: string; readonly webhook: string } | null> {
  const list = (after: string) => store.webhooks.list(after, PAGE_MAX, { endpointId });
  for await (const { id, name, customHeaders, signature } of everyRow(PAGE_MAX, list)) {
    const sent = [...customHeaders.map((header) => header.name.toLowerCase()), ...templateHeaders(signature).keys()];
    const found = sent.find((one) => names.has(one));
    if (found !== undefined) return { name: found, webhook: `${name} (${id})` };
  }
  return null;
}

/** Why these settings of an endpoint cannot be combined: each header has one source. */
function sourceProblems({
  oauthClientId,
  authentication,
  nextAuthentication,
  sendApiKey,
  requestHeaders,
}: Pick<
  Endpoint,
  'oauthClientId' | 'authentication' | 'nextAuthentication' | 'sendApiKey' | 'requestHeaders'
>): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (oauthClientId !== null && authentication !== null) {
    problems.push({ field: 'authentication', problem: 'cannot be combined with oauth: both authenticate the request' });
    problems.push({ field: 'oauth', problem: 'cannot be combined with authentication' });
  }
  const own = [authentication, nextAuthentication].flatMap((one) => (one === null ? [] : [authenticationHeader(one)]));
  const authorizing =
    oauthClientId !== null ? 'oauth' : own.includes('authorization') ? 'authentication' : 'the signature';
  const setters = new Map<string, string>([
    ...own.map((name) => [name, 'authentication'] as const),
    ['authorization', authorizing],
    ...(sendApiKey ? [['x-api-key', 'the API key (switch sendApiKey off)'] as const] : []),
  ]);
  for (const [at, { name }] of (requestHeaders ?? []).entries()) {
    const setter = setters.get(name.toLowerCase());
    if (setter !== undefined)
      problems.push({ field: `requestHeaders[${at}].name`, problem: `${name.toLowerCase()} is set by ${setter}` });
  }
  if (sendApiKey && own.includes('x-api-key'))
    problems.push({ field: 'authentication.name', problem: 'x-api-key is set by the API key (switch sendApiKey off)' });
  return problems;
}

/**
 * Secrets that are sent as they are stay with the server that they were given for. Otherwise anyone who may change the URL could have them
 * sent to a server of their own.
 */
function sentElsewhereProblems(endpoint: Endpoint, before: Endpoint | null): FieldProblem[] {
  if (before === null || new URL(before.url).origin === new URL(endpoint.url).origin) return [];
  const problem = 'is required: the one that is kept is not sent to another server';
  const kept = new Set([
    ...[before.authentication, before.nextAuthentication].map((one) => one?.secret),
    ...(before.requestHeaders ?? []).map(({ value }) => value),
  ]);
  const sent = [currentAuthentication(endpoint, endpoint.updatedAt), endpoint.nextAuthentication];
  const authentication = sent.filter((one) => one !== null).find(({ secret: value }) => kept.has(value));
  const headers = endpoint.requestHeaders ?? [];
  return [
    ...(authentication === undefined
      ? []
      : [{ field: `authentication.${AUTHENTICATION_MEMBERS[authentication.method].secret}`, problem }]),
    ...headers.flatMap(({ value, secret: isSecret }, at) =>
      isSecret && kept.has(value) ? [{ field: `requestHeaders[${at}].value`, problem }] : [],
    ),
  ];
}

/** The names of the headers that an endpoint adds, in lower case. A webhook's own headers must have other names. */
function ownHeaderNames({
  authentication,
  nextAuthentication,
  requestHeaders,
}: Pick<Endpoint, 'authentication' | 'nextAuthentication' | 'requestHeaders'>): ReadonlySet<string> {
  const authentications = [authentication, nextAuthentication].filter((one) => one !== null);
  return new Set([
    ...authentications.map(authenticationHeader),
    ...(requestHeaders ?? []).map(({ name }) => name.toLowerCase()),
  ]);
}

/** Returns the problems of the names of a webhook's headers: each name has one source. */
export function headerProblems(
  customHeaders: readonly CustomHeader[],
  signature: SignatureTemplate | null,
  endpoint: Endpoint | null,
): FieldProblem[] {
  const taken = endpoint === null ? new Set<string>() : ownHeaderNames(endpoint);
  const templates = templateHeaders(signature);
  const custom = customHeaders.flatMap(({ name }, at) => {
    const lower = name.toLowerCase();
    const field = `customHeaders[${at}].name`;
    if (taken.has(lower)) return [{ field, problem: `${lower} is set by the endpoint` }];
    return templates.has(lower) ? [{ field, problem: `${lower} is set by the signature` }] : [];
  });
  const signed = [...templates].flatMap(([name, field]) =>
    taken.has(name) ? [{ field, problem: `${name} is set by the endpoint` }] : [],
  );
  return [...custom, ...signed];
}
