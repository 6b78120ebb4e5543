/** The section of the HTTP API's page that says what each code of a refusal means. */
import { REFUSAL_STATUS, type RefusalCode } from '../../src/kernel/refusal.ts';

/** A code that is not here does not compile. */
const MEANINGS: Readonly<Record<RefusalCode, string>> = {
  invalid_request: 'The request cannot be read, or lacks what every such request has; `description` says what.',
  validation_failed: 'Fields or parameters are not as they have to be; `details` names them one by one.',
  malformed_json: 'The body is no JSON.',
  invalid_client:
    'Unknown client id, wrong secret, or an application or its user that is switched off. The form dialect says it with 401.',
  invalid_scope:
    'A scope that the application is not registered for, that is malformed, or one too many. No token is issued.',
  unsupported_grant_type: 'Another grant type than `client_credentials`.',
  ambiguous_path:
    'The path could be [read in two ways](../api-catalogue.md#paths-that-can-be-read-in-two-ways), so nobody judges it.',
  unauthorized: 'There is no access token.',
  invalid_token: 'The access token is malformed, unknown, expired or revoked.',
  insufficient_scope: 'The token lacks the scope that is named, or no rule of the catalogue takes the path.',
  insufficient_permission: 'The user lacks the permission, or a constraint leaves the object out.',
  forbidden: 'Pages of the portal alone: the role does not allow it, or a form was not sent by the page.',
  not_found: 'There is no such path, or no such thing.',
  method_not_allowed: 'The path takes other methods: `Allow` names them.',
  request_timeout: 'The request did not arrive in time.',
  conflict: 'A name is taken, or something else that is stored stands against it.',
  in_use: 'Others refer to it: `description` names them.',
  read_only: 'It is built in and stays as it is.',
  last_administrator: 'The change would leave no active administrator.',
  not_verified: 'The endpoint has to answer its challenge before it can be enabled.',
  invalid_state: 'Not while it is in the state that it is in: `description` says which, and often what to do first.',
  idempotency_conflict: 'The idempotency key was used within 24 hours for a request or an event with other content.',
  precondition_failed: 'The resource has changed since it had the `ETag` of `If-Match`; `ETag` is the present one.',
  content_too_large: 'The body has more bytes than it may.',
  unsupported_media_type: 'Another media type, charset or content coding than is taken here.',
  too_many_requests: 'Too many failed authentications came from there: `Retry-After` says how long to wait.',
  headers_too_large: 'The headers have more bytes than they may.',
  server_error: 'A fault of the service: `errorId` finds it in the log.',
  not_implemented: 'A `Transfer-Encoding` other than `chunked`.',
  unavailable: 'It cannot be done at the moment; `description` says why. Trying again later makes sense.',
  http_version_not_supported: 'Another version of HTTP than 1.0 and 1.1.',
};

export function refusalCodes(): string {
  const rows = Object.entries(MEANINGS).map(
    ([code, meaning]) => `| ${REFUSAL_STATUS[code as RefusalCode]} | \`${code}\` | ${meaning} |`,
  );
  return [
    '## Codes\n',
    'What `error.code` of a refusal says, by status. The token endpoints answer forms with the codes of RFC 6749 §5.2.\n',
    '| status | code | |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
