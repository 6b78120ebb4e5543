/** Verifies and decodes complete requests. Receivers do this step by step. */
import {
  type DeliveryHead,
  type HeadFailureCode,
  type HeadVerdict,
  verifyContent,
  verifyHead,
} from '../../src/wire/delivery-verification.ts';
import type { HeaderPairs, HeaderRecord } from '../../src/wire/headers.ts';
import { type PayloadDecoding, type PayloadVerdict, readEncoding } from '../../src/wire/payload-decoding.ts';
import {
  type MessageFailureCode,
  type MessageHead,
  readStandardWebhook,
} from '../../src/wire/standard-webhooks-verification.ts';
import type { Verdict } from '../../src/wire/verdict.ts';

/** `body` is the bytes as received, before any decoding. */
export type DeliveryToVerify = DeliveryHead & { readonly body: Uint8Array };
export type DeliveryFailureCode = HeadFailureCode | 'wrong_content_hash';

type Signed = Omit<Extract<HeadVerdict, { ok: true }>, 'ok' | 'contentHash'>;

/** Verifies that one of the secrets signed the request, or returns why not. Rejects only for an empty secret. */
export async function verifyDelivery(delivery: DeliveryToVerify): Promise<Verdict<DeliveryFailureCode, Signed>> {
  const head = await verifyHead(delivery);
  if (!head.ok) return head;
  const { contentHash, ...signed } = head;
  const content = await verifyContent(delivery.body, contentHash);
  return content.ok ? signed : content;
}

/** `reading`: replaces `readStandardWebhook`. */
export type MessageToVerify = MessageHead & {
  readonly body: Uint8Array;
  readonly reading?: typeof readStandardWebhook;
};

type MessageVerdict = Verdict<
  MessageFailureCode,
  { readonly id: string; readonly signedAt: number; readonly secretIndex: number | null }
>;

/** Verifies that one of the secrets signed the message, or returns why not. Rejects only for an empty secret. */
export async function verifyStandardWebhook(message: MessageToVerify): Promise<MessageVerdict> {
  const head = (message.reading ?? readStandardWebhook)(message);
  if (!head.ok) return head;
  const { id, signedAt } = head;
  const verdict = await head.verify(message.body);
  return verdict.ok ? { ok: true, id, signedAt, secretIndex: verdict.secretIndex } : verdict;
}

/** Decodes the received bytes as the headers describe, or returns why it cannot. Rejects only with errors of `decrypt`. */
export async function decodePayload(
  bytes: Uint8Array,
  headers: HeaderRecord | HeaderPairs,
  decoding: PayloadDecoding,
): Promise<PayloadVerdict> {
  const encoding = readEncoding(headers, decoding);
  return encoding.ok ? encoding.decode(bytes) : encoding;
}
