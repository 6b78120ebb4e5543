/** Generates the section about error codes on the page of the HTTP API. */
import { REFUSAL_STATUS, type RefusalCode } from '../../src/kernel/refusal.ts';

/** A code that is missing here does not compile. */
const MEANINGS: Readonly<Record<RefusalCode, string>> = {
  invalid_request: 'The request is malformed or lacks a required parameter; `description` says which.',
  validation_failed: 'Fields or parameters are invalid; `details` lists them.',
  malformed_json: 'The body is not JSON.',
  invalid_client: 'Unknown client id, wrong secret, or an inactive application or user. The form dialect answers 401.',
  invalid_scope:
    'A scope is malformed or not registered for the application, or there are too many. No token is issued.',
  unsupported_grant_type: 'The grant type is not `client_credentials`.',
  ambiguous_path:
    'The path is ambiguous: servers can [read it in two ways](../api-catalogue.md#paths-that-can-be-read-in-two-ways).',
  unauthorized: 'The request has no access token.',
  invalid_token: 'The access token is malformed, unknown, expired or revoked.',
  insufficient_scope: 'The token lacks the required scope, or no rule of the catalogue matches the path.',
  insufficient_permission: 'The user lacks the permission, or a constraint excludes the object.',
  forbidden: 'Only in the portal: the role does not allow it, or the form did not come from the page.',
  not_found: 'The path or the resource does not exist.',
  method_not_allowed: 'The path does not support the method; `Allow` lists the methods that it supports.',
  request_timeout: 'The request did not arrive in time.',
  conflict: 'A name is taken, or the request conflicts with another resource.',
  in_use: 'Other resources refer to it; `description` names them.',
  read_only: 'The resource is built in and cannot be changed.',
  last_administrator: 'The change would leave no active administrator.',
  limit_reached: 'The customer has as many endpoints or webhooks as its limit; `description` names it.',
  not_verified: 'The endpoint must answer its challenge before it can be enabled.',
  invalid_state: 'The current state of the resource does not allow this; `description` says what to do first.',
  idempotency_conflict:
    'The idempotency key was used in the last 24 hours for a request or an event with other content.',
  precondition_failed: 'The resource has changed since the `ETag` in `If-Match`; `ETag` has the current one.',
  content_too_large: 'The body is too large.',
  unsupported_media_type: 'The media type, charset or content coding is not supported.',
  too_many_requests:
    'Too many failed authentications from this address, or more events a second than the limit of a customer; ' +
    '`Retry-After` says how long to wait.',
  headers_too_large: 'The headers are too large.',
  server_error: 'An internal error. The log has it under the `errorId`.',
  not_implemented: 'The `Transfer-Encoding` is not `chunked`.',
  unavailable: 'The service cannot do this at the moment; `description` says why. Try again later.',
  http_version_not_supported: 'The version of HTTP is not 1.0 or 1.1.',
};

export function refusalCodes(): string {
  const rows = Object.entries(MEANINGS).map(
    ([code, meaning]) => `| ${REFUSAL_STATUS[code as RefusalCode]} | \`${code}\` | ${meaning} |`,
  );
  return [
    '## Codes\n',
    'The values of `error.code`, by status. The token endpoints answer forms with the codes of RFC 6749 §5.2.\n',
    '| status | code | |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
