/** The section for a reader of a webhook in mode `pull`: the address, and how to read and acknowledge. */

import type { Webhook } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import { codePanels, copyable, definitionList } from '../parts/details.ts';
import { section } from '../parts/header.ts';

/** `publicUrl` is null if the portal does not know its own address. */
export function readerSection({ id, encryptionKeyName }: Webhook, publicUrl: string | null): Html {
  const url = publicUrl ?? 'https://events.example.com';
  const address = `${url}/services/api/x/edge/v1/webhooks/${id}/records`;
  return section({
    title: 'Read its events',
    id: 'reader',
    lead:
      'A reader needs an application with the scope records:read. It fetches records in order, and acknowledges ' +
      'the records that it has processed.',
    content: html`
      ${definitionList([
        ['Address', copyable(address, 'address'), 'Waits up to 30 seconds for the next record with ?wait=30.'],
      ])}
      <div id="reader-code" data-hx-morph-skip>
        ${codePanels('Read events', [
          { label: 'JavaScript', code: javaScript(url, id, encryptionKeyName) },
          { label: 'curl', code: curl(address) },
        ])}
      </div>
    `,
  });
}

function javaScript(url: string, webhookId: string, keyName: string | null): string {
  const decrypt = keyName === null ? '' : `\n  decrypt: pgpDecryption({ ${JSON.stringify(keyName)}: { privateKey } }),`;
  const imported = keyName === null ? '' : "\nimport { pgpDecryption } from 'sallyport-receiver/pgp';";
  return `import { pull } from 'sallyport-receiver';${imported}

for await (const { records } of pull({
  url: '${url}',
  webhookId: '${webhookId}',
  token: () => accessToken(),${decrypt}
  follow: true,
})) {
  // What was handed over is acknowledged when the loop asks for more.
  for (const { messageId, eventType, data } of records) await process(messageId, eventType, data);
}
`;
}

function curl(address: string): string {
  return `curl -H "Authorization: Bearer $TOKEN" '${address}?wait=30'
# Once the records up to throughOffset are processed:
curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"throughOffset": 41}' '${address.replace(/records$/, 'acknowledge')}'
`;
}
