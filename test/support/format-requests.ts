/** Requests in the formats of webhooks, made of the vectors with the sender's half of src/wire. */
import { contentHeaders, signDelivery, standardWebhookHeaders } from '../../src/wire/payload.ts';
import { eventsOf, type FormatVector } from './format-vectors.ts';
import { API_KEY, PATH, type RawRequest, SECRET } from './signed-request.ts';

const URL_OF_HOOK = new URL(`https://hooks.example.com${PATH}`);

/** The request that carries a vector, signed as the service signs it. `more` replaces headers and adds others. */
export function formatRequest(vector: FormatVector, more: Readonly<Record<string, string>> = {}): RawRequest {
  const body = Buffer.from(vector.body);
  const at = Date.now();
  const content = contentHeaders(body, at);
  const signed = signDelivery({ url: URL_OF_HOOK, secret: SECRET, content, customHeaders: [] });
  const isStandard = vector.format === 'standard';
  const [name] = eventsOf(vector).map(({ messageId }) => messageId);
  const message = { id: 'unused', name: name ?? '', at, body, secrets: [SECRET] };
  const headers = {
    'x-api-key': API_KEY,
    ...vector.headers,
    ...signed,
    ...(isStandard && standardWebhookHeaders(message)),
    ...more,
  };
  return { method: 'POST', path: PATH, headers: Object.entries(headers), body };
}
