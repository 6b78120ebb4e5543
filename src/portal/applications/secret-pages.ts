/** Client secrets: shown once when an application is registered and when its secret is replaced. */

import { regenerateInput, type WithSecret } from '../../access/applications.ts';
import { type Application, SECRET_OVERLAP_MAX_SECONDS } from '../../domain/application.ts';
import type { ApiProduct } from '../../domain/catalogue.ts';
import { type Html, html } from '../../http/html.ts';
import { TOKEN_PATH } from '../../http/route.ts';
import { refuseField } from '../../kernel/refusal.ts';
import { validate } from '../../kernel/validation.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import { addressFor } from '../frame/browser.ts';
import type { PageCall, View } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { type Result, resultOf } from '../frame/results.ts';
import { codeBlock, copyable, definitionList, programPanels, secretBox } from '../parts/details.ts';
import { type Choice, checkbox, type FormState, newForm, radioGroup } from '../parts/fields.ts';
import { fieldGroup, form } from '../parts/form.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { TOKENS_COUNTED } from '../parts/limits.ts';
import { time } from '../parts/text.ts';
import { numberOf } from '../record/field-table.ts';
import { ownedCrumbs, ownedName, readOwner } from '../record/owner.ts';
import { recordForm } from '../record/record-form.ts';

export function secretPages({
  pages,
  results,
  services: { applications },
  store,
  publicUrl,
}: SharedPageDependencies): PageRoute<'both'>[] {
  return pages.form(
    '/applications/{id}/regenerate-secret',
    'both',
    recordForm({
      administration: applications,
      fill: () => newForm({ overlapSeconds: RECOMMENDED }),
      view: async (call, application, state) => {
        const [owner, tokens] = await Promise.all([
          readOwner(store, application),
          store.tokens.inForce(application, call.now, TOKENS_COUNTED),
        ]);
        return askView(call, application, { owner, state, hasTokens: tokens.newestAt !== null || !tokens.isWhole });
      },
      respond: (call) =>
        results.once(call, async () => {
          const overlapSeconds = numberOf(call.form, 'overlapSeconds');
          if (overlapSeconds === undefined)
            throw refuseField('overlapSeconds', 'must be chosen: immediately, or after an overlap');
          const input = validate(regenerateInput, { overlapSeconds, revokeTokens: call.form.has('revokeTokens') });
          const made = await applications.regenerateSecret(call.params.id ?? '', input, call.acting);
          const [owner, products] = await Promise.all([readOwner(store, made.application), store.products.all()]);
          return secretResult(call, made, { owner, publicUrl: publicUrl(), products });
        }),
    }),
  );
}

/** The credentials of a new application, with examples. */
export function registeredResult(call: PageCall, made: WithSecret, { owner, ...around }: Around): Result {
  const title = `${ownedName(made.application.name, owner)} is registered`;
  // The people of a customer run the program themselves.
  const use = owner === null ? 'Put both into your program' : `Give both to ${owner.name}, for its program`;
  return shownResult(call, made, { owner, ...around, title, use });
}

function secretResult(call: PageCall, made: WithSecret, { owner, ...around }: Around): Result {
  const title = `New secret of ${ownedName(made.application.name, owner)}`;
  const use = owner === null ? 'Put it into your program' : `Give it to ${owner.name}, for its program`;
  return shownResult(call, made, { owner, ...around, title, use });
}

type Around = {
  readonly owner: OwnerName | null;
  readonly publicUrl: string | null;
  readonly products: readonly ApiProduct[];
};

type Shown = Around & {
  readonly title: string;
  /** How to use the client id and the secret. */
  readonly use: string;
};

function shownResult(
  { request }: PageCall,
  { application, clientSecret }: WithSecret,
  { owner, publicUrl, products, title, use }: Shown,
): Result {
  const { id, name, clientId } = application;
  const url = `${addressFor(request, publicUrl) ?? 'https://…'}${TOKEN_PATH}`;
  const secret = {
    label: 'Client secret',
    value: clientSecret,
    note: 'Copy it now into a secret store. It begins with sps_, so that secret scanners find it in source code.',
    renewal: { href: `/applications/${id}/regenerate-secret`, label: 'create a new secret' },
  };
  return resultOf(
    title,
    (showing) =>
      html`
        ${pageHeader({
          title,
          crumbs: crumbsTo(application, owner),
          lead: 'Only a hash of the secret is stored, so it cannot be shown again, only replaced.',
        })}
        ${section({
          title: use,
          lead: 'With the client id and the secret, the program gets tokens.',
          content: html`
            ${definitionList([['Client id', copyable(clientId, 'client id')]])}
            ${secretBox(secret, showing)}
          `,
        })}
        ${usageSections(application, products, url.slice(0, -TOKEN_PATH.length))}
        <div class="buttons result-next">
          ${linkButton({
            href: `/applications/${id}`,
            label: `I have stored the secret: go to ${name}`,
            kind: 'primary',
          })}
        </div>
      `,
  );
}

/** Code that gets a token and makes a call, without the secret. */
export function usageSections(application: Application, products: readonly ApiProduct[], address: string): Html {
  const { clientId, scopes } = application;
  const url = `${address}${TOKEN_PATH}`;
  return html`
    ${section({
      title: 'Get a token',
      lead: html`
        The program requests a token, sends it with each call as <code>Authorization: Bearer …</code> until it
        expires, and requests the next one. In the examples the secret is in the environment as
        <code>CLIENT_SECRET</code>: read it from your secret store.
      `,
      content: html`
        ${definitionList([['Token URL', copyable(url, 'token URL')]])}
        ${programPanels('Get a token', tokenExamples(url, clientId, scopes))}
      `,
    })}
    ${useSection(application, products, address)}
  `;
}

/** A call that its scopes allow, of a path without parameters: it runs as it is. An API of the company itself has a host of its own. */
function useSection({ scopes }: Application, products: readonly ApiProduct[], address: string): Html | null {
  const [first] = products.flatMap(({ rules, builtIn }) =>
    rules
      .filter(({ scope, methods, path }) => scopes.includes(scope) && methods.includes('GET') && !path.includes('{'))
      .map(({ path }) => ({ path, origin: builtIn ? address : OWN_HOST })),
  );
  if (first === undefined) return null;
  const { path, origin } = first;
  return section({
    title: 'Use it',
    lead: html`
      One of the calls that its scopes allow. <code>TOKEN</code> is the <code>access_token</code> of the response above.
      ${origin === OWN_HOST ? html`Put the host of the API in place of <code>${new URL(OWN_HOST).host}</code>.` : null}
    `,
    content: html`
      <div class="program">
        ${codeBlock({ label: 'Call the API', code: `curl -H "Authorization: Bearer $TOKEN" \\\n  ${origin}${path}` })}
      </div>
    `,
  });
}

const OWN_HOST = 'https://api.example';

/** Without the secret, because people copy examples into tickets. */
function tokenExamples(url: string, clientId: string, scopes: readonly string[]): { label: string; code: string }[] {
  const scope = scopes.slice(0, 3).join(' ');
  return [
    {
      label: 'curl',
      code: `curl ${url} \\
  -u '${clientId}:'"$CLIENT_SECRET" \\
  -d grant_type=client_credentials -d scope='${scope}'`,
    },
    {
      label: 'JavaScript',
      code: `const response = await fetch('${url}', {
  method: 'POST',
  headers: { Authorization: 'Basic ' + btoa('${clientId}:' + process.env.CLIENT_SECRET) },
  body: new URLSearchParams({ grant_type: 'client_credentials', scope: '${scope}' }),
});
const { access_token, expires_in } = await response.json();`,
    },
    {
      label: 'Python',
      code: `import base64, json, os, urllib.parse, urllib.request

credentials = base64.b64encode(f'${clientId}:{os.environ["CLIENT_SECRET"]}'.encode()).decode()
form = urllib.parse.urlencode({'grant_type': 'client_credentials', 'scope': '${scope}'}).encode()
request = urllib.request.Request('${url}', form, {'Authorization': f'Basic {credentials}'})
token = json.load(urllib.request.urlopen(request))['access_token']`,
    },
    {
      label: 'JSON',
      code: `POST ${TOKEN_PATH}
Content-Type: application/json

${JSON.stringify({ clientId, clientSecret: '…', grantType: 'client_credentials', scope }, null, 2)}`,
    },
  ];
}

const RECOMMENDED = '86400';

const OVERLAPS: readonly Choice[] = [
  {
    value: '0',
    label: 'Immediately',
    hint: 'The program fails until it has the new one. Choose this if the old one has leaked.',
  },
  { value: '3600', label: 'In an hour' },
  { value: RECOMMENDED, label: 'In a day, recommended' },
  { value: String(SECRET_OVERLAP_MAX_SECONDS), label: 'In a week' },
];

/** With the time until which both secrets work. */
function overlapsFrom(now: number): Choice[] {
  const until = (value: string): Html => html`Both secrets work until ${time(now + Number(value) * 1000)}.`;
  return OVERLAPS.map((choice) => ({ ...choice, hint: choice.hint ?? until(choice.value) }));
}

const PREVIOUS_EXPIRES = ' At most two secrets are valid at a time, so the previous one expires now.';

type Asking = { readonly owner: OwnerName | null; readonly state: FormState; readonly hasTokens: boolean };

function askView({ csrf, now }: PageCall, application: Application, { owner, state, hasTokens }: Asking): View {
  const { id, name, previousSecretExpiresAt } = application;
  const path = `/applications/${id}`;
  const title = `New secret for ${ownedName(name, owner)}`;
  const content: Html = html`
    ${pageHeader({
      title,
      crumbs: crumbsTo(application, owner),
      lead: `The next page shows the new secret, once. It works immediately.${previousSecretExpiresAt === null ? '' : PREVIOUS_EXPIRES}`,
    })}
    ${form({
      action: `${path}/regenerate-secret`,
      csrf,
      form: state,
      content: html`
        ${radioGroup(state, { name: 'overlapSeconds', label: 'When the old secret expires', choices: overlapsFrom(now) })}
        ${
          hasTokens
            ? fieldGroup('Its tokens', null, [
                checkbox(state, {
                  name: 'revokeTokens',
                  label: 'Revoke all tokens too',
                  hint: 'All tokens issued so far are refused from the next call on.',
                }),
              ])
            : html`<p class="hint">It has no valid tokens.</p>`
        }
      `,
      submit: 'Create a new secret',
      cancel: path,
      labels: { overlapSeconds: 'When the old secret expires' },
    })}
  `;
  return { title, content };
}

function crumbsTo({ id, name }: Application, owner: OwnerName | null) {
  const list = { href: '/applications', label: 'Applications' };
  return ownedCrumbs(list, owner, { href: `/applications/${id}`, label: name });
}
