/** One call of the API reference: its path, scope, parameters, body, replies and a sample. */
import type { ApiDocument, ApiResponse, Content, Operation } from '../../http/api-document.ts';
import { refName } from '../../http/api-document.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { type ApiCall, callTitle } from '../parts/api-calls.ts';
import { copyButton } from '../parts/details.ts';
import { breakable } from '../parts/text.ts';
import { fieldList, inline, type SchemaFields } from './schema-fields.ts';

export type Around = {
  readonly document: ApiDocument;
  readonly fields: SchemaFields;
  /** Without a slash at its end. */
  readonly address: string;
};

/** Folded unless `open`. The anchor is within, so that a link to it unfolds the call. */
export function callView(call: ApiCall, around: Around, open: boolean): Html {
  const { method, path, operation, scope } = call;
  const { operationId, description = '', parameters = [], requestBody } = operation;
  const text = description.replace(NEEDS, '').trim();
  return html`
    <details class="api-call"${attributes({ open })}>
      <summary>
        <h3>${callTitle(call)}</h3>
        <code class="api-request"><span class="api-method">${method}</span> ${breakable(path)}</code>
      </summary>
      <div class="doc" id="${operationId}">
        ${text === '' ? null : html`<p>${inline(text)}</p>`}
        <p>${scopeText(operation, scope)}</p>
        ${parameters.length === 0 ? null : parametersOf(parameters, around)}
        ${requestBody === undefined ? null : bodyOf(requestBody, around)}
        ${repliesOf(operation, around)}
        ${sampleOf(call, around)}
      </div>
    </details>
  `;
}

/** The page says it once, and names the scope beside each call. */
const NEEDS = /Needs the scope `[^`]+`, and its user the permission of that name\.$/;

export function scopeAnchor(scope: string): string {
  return `scope-${scope.replace(':', '-')}`;
}

function scopeText({ security = [] }: Operation, scope: string | null): Html {
  const needsNone = security.length === 0 || security.some((one) => Object.keys(one).length === 0);
  if (scope === null)
    return security.length > 0 ? html`With the client id and the secret, no token.` : html`Needs no token.`;
  const link = html`Scope <a href="#${scopeAnchor(scope)}"><code>${scope}</code></a>`;
  return needsNone ? html`${link}; without a token, it answers with less.` : link;
}

function parametersOf(parameters: NonNullable<Operation['parameters']>, { fields }: Around): Html {
  const shown = parameters.map(({ name, in: place, description = '', schema }) => ({
    name,
    type: html`${fields.phrase(schema)}, in the ${place}`,
    meaning: description,
  }));
  return html`<h4>Parameters</h4>${fieldList(shown)}`;
}

function bodyOf({ required, content }: NonNullable<Operation['requestBody']>, { fields }: Around): Html {
  const [schema] = Object.values(content).map((one) => one.schema);
  if (schema === undefined) return html``;
  const types = Object.keys(content).map((type, at) => html`${at === 0 ? '' : ' or '}<code>${type}</code>`);
  return html`
    <h4>Body</h4>
    <p>${required ? null : 'Optional. '}${fields.phrase(schema)} as ${types}</p>
    ${Object.values(content).map((one) => fields.place(one.schema))}
  `;
}

/** Successes in full, and the statuses of refusals, which all have the same body. */
function repliesOf({ responses }: Operation, { fields, document }: Around): Html {
  const all = Object.entries(responses).map(([status, response]) => ({
    status,
    response: resolved(response, document),
  }));
  const [replies, refusals] = [all.filter(isSuccess), all.filter((one) => !isSuccess(one))];
  const lines = replies.map(({ status, response: { description = '', content } }) => {
    const [body] = Object.values(content ?? {});
    const text = html`<code>${status}</code> ${inline(description.replace(/\.$/, ''))}`;
    return body === undefined ? html`<li>${text}</li>` : html`<li>${text}: ${fields.phrase(body.schema)}</li>`;
  });
  const refused = refusals.map(({ status }) => status).join(', ');
  return html`
    <h4>Replies</h4>
    <ul>
      ${lines}
      <li>Refused with ${refused}: see <a href="#errors">Errors</a>.</li>
    </ul>
    ${replies.flatMap(({ response }) => Object.values(response.content ?? {}).map(({ schema }) => fields.place(schema)))}
  `;
}

function isSuccess({ status }: { readonly status: string }): boolean {
  return Number(status) < 400;
}

function resolved(response: ApiResponse, { components }: ApiDocument): ApiResponse {
  return response.$ref === undefined ? response : { ...components.responses[refName(response.$ref)], ...response };
}

/** A command that runs once its variables are set, and what it answers. */
function sampleOf({ method, path, operation, scope }: ApiCall, { document, address }: Around): Html {
  const sent = exampleIn(operation.requestBody?.content, document);
  const success = Object.entries(operation.responses).find(([status]) => Number(status) < 300);
  const answered = success === undefined ? undefined : exampleIn(success[1].content, document);
  const url = address + path.replaceAll(/\{\w+\}/g, SAMPLE_ID);
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${url}`,
    ...(scope === null ? [] : [`  -H "Authorization: Bearer $TOKEN"`]),
    ...(sent === undefined
      ? []
      : [`  -H 'Content-Type: ${sent.type}'`, `  -d '${sent.text.replaceAll("'", "'\\''")}'`]),
  ];
  const command = lines.join(' \\\n');
  const reply = answered === undefined ? null : html`<pre tabindex="0"><code>${answered.text}</code></pre>`;
  return html`
    <h4>Sample</h4>
    ${codeOf(command, 'Copy the command')}
    ${reply === null ? null : html`<p>The response:</p><div class="doc-code">${reply}</div>`}
  `;
}

const SAMPLE_ID = '01a1fc79-c080-7000-8000-000000000001';

export function codeOf(code: string, label: string): Html {
  return html`
    <div class="doc-code"><pre tabindex="0"><code>${code}</code></pre>${copyButton('', label)}</div>
  `;
}

/** The first example of a body, with its media type. */
function exampleIn(
  content: Content | undefined,
  { components }: ApiDocument,
): { readonly type: string; readonly text: string } | undefined {
  const [type, media] = Object.entries(content ?? {})[0] ?? [];
  const [example] = Object.values(media?.examples ?? {});
  if (type === undefined || example === undefined) return undefined;
  const { value } = example.$ref === undefined ? example : (components.examples?.[refName(example.$ref)] ?? {});
  return value === undefined ? undefined : { type, text: JSON.stringify(value, null, 2) };
}
