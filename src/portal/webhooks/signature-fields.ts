/** The signature of another product: the fields of its template, and the page with a preview for a sample. */

import type { Webhook } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import { isObject } from '../../kernel/validation.ts';
import { signatureOf, viewSignature } from '../../webhooks/signature-schema.ts';
import { pathId } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { codeBlock, definitionList } from '../parts/details.ts';
import type { FormState } from '../parts/fields.ts';
import { moreFields } from '../parts/form.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import { type Body, type FieldTable, select, text } from '../record/field-table.ts';

const CUSTOM = 'custom';

const PRESET_LABELS = {
  github: 'GitHub: X-Hub-Signature-256',
  stripe: 'Stripe: Stripe-Signature',
  shopify: 'Shopify: X-Shopify-Hmac-Sha256',
  slack: 'Slack: X-Slack-Signature',
} as const;

/** The names of the signing keys, by `signature.key`. */
const KEY_NAMES = {
  text: 'the secret as text',
  decoded: 'the secret decoded from Base64',
  prefixed: 'whsec_ and the secret, as text',
} as const satisfies Record<NonNullable<Webhook['signature']>['key'], string>;

const HOLDERS = '{body}, {timestamp}, {id}, {url} and {path}';

export function signatureFields(): FieldTable {
  const choices = (...values: readonly (readonly [value: string, label: string])[]) =>
    values.map(([value, label]) => ({ value, label }));
  return {
    'signature.preset': select({
      label: 'Also sign as',
      choices: choices(['', 'no other product'], ...Object.entries(PRESET_LABELS), [CUSTOM, 'a template of your own']),
      hint: 'For a receiver that verifies the signature of the product that you replace. The key is the secret of the endpoint.',
    }),
    'signature.header': text({ label: 'Header of the signature', isCode: true, placeholder: 'X-Signature' }),
    'signature.algorithm': select({
      label: 'Hash',
      choices: choices(['sha256', 'SHA-256'], ['sha512', 'SHA-512'], ['sha1', 'SHA-1 (weak)']),
    }),
    'signature.encoding': select({ label: 'Encoding', choices: choices(['hex', 'hex'], ['base64', 'Base64']) }),
    'signature.value': text({
      label: 'Value of the header',
      isCode: true,
      placeholder: 'sha256={signature}',
      hint: 'With {signature} once, and {timestamp}, {id}, {url} or {path}.',
    }),
    'signature.content': text({
      label: 'Signed content',
      isCode: true,
      placeholder: '{body}',
      hint: `With ${HOLDERS}.`,
    }),
    'signature.key': select({
      label: 'Signing key',
      choices: choices(...Object.entries(KEY_NAMES)),
    }),
    'signature.repeat': select(
      {
        label: 'During a rotation',
        choices: choices(
          ['', 'only the active secret signs'],
          [',', 'both sign, separated by a comma'],
          [';', 'both sign, separated by a semicolon'],
          [' ', 'both sign, separated by a space'],
        ),
      },
      { read: (sent, name) => sent.get(name) || undefined },
    ),
    'signature.timestampHeader': text({ label: 'Header with {timestamp}', isCode: true }),
    'signature.idHeader': text({ label: 'Header with {id}', isCode: true }),
  };
}

/** The style shows the fields of a template once it is chosen. */
export function signatureLayout(state: FormState, field: (name: string) => Html | null): Html {
  const [preset = '', ...others] = Object.keys(signatureFields());
  return moreFields(
    'Signature of another product',
    state,
    [preset, ...others],
    [field(preset), html`<div class="for-custom">${others.map(field)}</div>`],
  );
}

/** The template of a sent form. A preset takes no other fields. */
export function chosenSignature(sent: unknown): unknown {
  const members: Body = isObject(sent) ? { ...sent } : {};
  const { preset } = members;
  if (typeof preset !== 'string' || preset === '') return null;
  return preset === CUSTOM ? { ...members, preset: null } : { preset };
}

/** As the form shows it: a preset whose members were changed is a template. */
export function shownSignature({ signature }: Webhook): Body | null {
  if (signature === null) return null;
  const { warnings, ...shown } = viewSignature(signature) ?? { ...signature, warnings: [] };
  const { preset } = signature;
  const isWhole = preset !== null && JSON.stringify(signatureOf({ preset })) === JSON.stringify(signature);
  return { ...shown, preset: isWhole ? preset : CUSTOM };
}

export function signatureName({ signature }: Webhook): string {
  if (signature === null) return 'none';
  const { preset, header } = signature;
  return preset === null ? `in ${header}` : PRESET_LABELS[preset];
}

function none(webhookId: string): Html {
  return html`
    <p>This webhook has no signature of another product.</p>
    <p>${linkButton({ href: `/webhooks/${webhookId}`, label: 'Go to the webhook', icon: 'webhook' })}</p>
  `;
}

/** `/webhooks/{id}/signature`: the template, and what it signs for a sample. */
export function signaturePage({ pages, services }: SharedPageDependencies): PageRoute<'both'> {
  return pages.view('/webhooks/{id}/signature', 'both', async (call) => {
    const webhook = await services.webhooks.get(pathId(call));
    const { id, name } = webhook;
    const crumbs = [
      { href: '/webhooks', label: 'Webhooks' },
      { href: `/webhooks/${id}`, label: name },
    ];
    const title = `Signature of ${name}`;
    const header = pageHeader({
      title,
      crumbs,
      lead: 'What is signed for a test event, byte by byte, and the headers.',
    });
    if (webhook.signature === null || webhook.mode === 'pull') return { title, content: html`${header}${none(id)}` };
    const preview = await services.previewSignature(id, {});
    const { signature } = webhook;
    const { signedText, signedBase64 } = preview;
    const label = signedText === null ? 'Signed bytes in Base64' : 'Signed bytes';
    const signed = { code: signedText ?? signedBase64, label };
    const lines = Object.entries(preview.headers).map(([one, value]) => `${one}: ${value}`);
    const content = html`
      ${header}
      ${preview.warnings.map((text) => notice({ tone: 'caution', text: `Warning: ${text}.` }))}
      ${section({
        title: 'Template',
        content: definitionList([
          ['Signature', signatureName(webhook)],
          ['Hash and encoding', `${signature.algorithm}, ${signature.encoding}`],
          ['Value', html`<code>${signature.value}</code>`],
          ['Signed content', html`<code>${signature.content}</code>`],
          ['Key', KEY_NAMES[signature.key]],
        ]),
      })}
      ${section({
        title: 'Preview',
        content: html`
          <div class="stack">
            ${codeBlock(signed)}
            ${codeBlock({ code: lines.join('\n'), label: 'Headers' })}
          </div>
        `,
      })}
    `;
    return { title, content };
  });
}
