/** How the development receiver shows requests and replies: lines for people, objects for programs. */
import { styleText } from 'node:util';
import { indentedJson, parseExactly } from '../../kernel/json-text.ts';
import { escapeControls } from '../output.ts';
import type { ListenAnswer } from './answer.ts';
import { type Arrival, deliveryIn } from './arrival.ts';

/** Characters of a body in the output. */
const LISTEN_BODY_SHOWN_LENGTH = 65_536;

/** Colours text, or returns it unchanged. */
type Paint = (style: 'green' | 'red' | 'yellow' | 'dim' | 'bold', text: string) => string;

export const inColour: Paint = (style, text) => styleText(style, text, { validateStream: false });
export const plain: Paint = (_style, text) => text;

/** The text for a request. */
export function arrivalText(arrival: Arrival, paint: Paint): string {
  const { number, at, method, path, headers, body, found } = arrival;
  const time = new Date(at).toISOString().slice(11, 23);
  const title = `#${number} ${time} ${escapeControls(`${method} ${path}`)}`;
  const shown = headers.map(([name, value]) => `  ${paint('dim', escapeControls(`${name}: ${value}`))}`);
  return `${[`${paint('bold', title)}  ${whatText(arrival, paint)}`, ...shown, ...bodyLines(found, body)].join('\n')}\n`;
}

/** The text for the reply. */
export function answerText({ number }: Arrival, { status, onPurpose, forwarded }: ListenAnswer, paint: Paint): string {
  const what = status === 'reset' ? 'connection reset' : String(status);
  const style = typeof status === 'number' && status < 300 ? 'green' : onPurpose ? 'yellow' : 'red';
  const why = onPurpose ? ' (on purpose)' : '';
  return `${paint('bold', `#${number}`)} → ${paint(style, what)}${why}${forwarded === null ? '' : `: ${escapeControls(forwarded)}`}\n`;
}

/** Request and reply as one line of JSON. */
export function arrivalJson(
  { number, at, method, path, headers, body, found, signatures }: Arrival,
  answered: ListenAnswer,
): string {
  const delivery = deliveryIn(found);
  return `${JSON.stringify({
    number,
    at: new Date(at).toISOString(),
    method,
    path,
    headers,
    what: kindOf(found),
    ...('refusal' in found && { code: found.refusal.code, description: found.refusal.description }),
    ...(delivery && {
      secretIndex: delivery.secretIndex,
      // A thin binary CloudEvent has no body.
      delivery: delivery.body.length === 0 ? null : parseExactly(decode(delivery.body) ?? ''),
    }),
    ...('eventDelivery' in found && { events: found.eventDelivery.events.map(({ data, ...context }) => context) }),
    ...(signatures.length > 0 && { signatures: signatures.map(({ header }) => header) }),
    ...(delivery === null && { body: decode(body) }),
    answered,
  })}\n`;
}

function kindOf(found: Arrival['found']): string {
  if ('refusal' in found) return 'refused';
  return 'answer' in found ? 'challenge' : 'handshake' in found ? 'handshake' : 'delivery';
}

function whatText({ found, signatures }: Arrival, paint: Paint): string {
  if ('refusal' in found) {
    const { code, description, verified } = found.refusal;
    return `${paint('red', `✗ ${code}`)}: ${escapeControls(description)}${verified ? ' (the sender is authentic)' : ''}`;
  }
  if ('answer' in found) return `${paint('green', '✓')} token challenge`;
  if ('handshake' in found) return `${paint('green', '✓')} handshake of CloudEvents`;
  const secretIndex = deliveryIn(found)?.secretIndex ?? null;
  const sender = secretIndex === null ? 'bearer token or password' : `secret ${secretIndex + 1}`;
  const proofs = [sender, ...signatures.map(({ header }) => header)].join(', ');
  if ('eventDelivery' in found) {
    const { events } = found.eventDelivery;
    const [first] = events;
    const title = events.length === 1 && first ? escapeControls(first.eventType) : `${events.length} events`;
    return `${paint('green', '✓')} ${title}, ${proofs}`;
  }
  const { records, attemptNumber } = found.delivery;
  const what = records.length === 0 ? 'heartbeat' : `${records.length} ${records.length === 1 ? 'record' : 'records'}`;
  return `${paint('green', '✓')} ${what}, attempt ${attemptNumber}, ${proofs}`;
}

/** Decoded if possible, and indented if it is JSON. */
function bodyLines(found: Arrival['found'], body: Uint8Array): string[] {
  const text = decode(deliveryIn(found)?.body ?? body);
  if (text === null) return [`  <${body.length} bytes>`];
  if (text === '') return [];
  const shown = indented(text);
  const more = shown.length - LISTEN_BODY_SHOWN_LENGTH;
  const lines = shown.slice(0, LISTEN_BODY_SHOWN_LENGTH).split('\n');
  return [
    ...lines.map((line) => `  ${escapeControls(line)}`),
    ...(more > 0 ? [`  … and ${more} more characters`] : []),
  ];
}

function indented(text: string): string {
  try {
    JSON.parse(text);
    return indentedJson(text);
  } catch {
    return text;
  }
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
