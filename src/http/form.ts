/** `application/x-www-form-urlencoded` as RFC 6749 Appendix B wants it: UTF-8 under percent-encoding, and nothing guessed. */
import { FORM_FIELDS_MAX } from '../kernel/limits/portal.ts';
import { Refusal } from '../kernel/refusal.ts';

export type Form = Readonly<Record<string, string>>;

/**
 * The form's parameters, each given once (RFC 6749 §3.2); an empty value stays an empty text. Throws 400 `invalid_request` for
 * a repeated name, a percent sign without two hex digits, and escapes that are not UTF-8.
 */
export function parseForm(text: string): Form {
  const form: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of pairsOf(text)) {
    if (name in form) {
      throw new Refusal('invalid_request', `the parameter ${printable(name)} was sent more than once`);
    }
    form[name] = value;
  }
  return form;
}

/**
 * The same for a form in which a name may stand several times, in their order: what a browser sends. One with more fields than
 * `FORM_FIELDS_MAX` is refused unread: half a million fit into a body, and would hold everything else up.
 */
export function parseRepeatedForm(text: string): URLSearchParams {
  if (text.split('&', FORM_FIELDS_MAX + 1).length > FORM_FIELDS_MAX)
    throw new Refusal('invalid_request', `the form has more than ${FORM_FIELDS_MAX} fields`);
  const form = new URLSearchParams();
  for (const [name, value] of pairsOf(text)) form.append(name, value);
  return form;
}

function* pairsOf(text: string): Generator<readonly [name: string, value: string]> {
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = decodeFormText(at === -1 ? pair : pair.slice(0, at));
    const value = decodeFormText(at === -1 ? '' : pair.slice(at + 1));
    if (name === null || value === null) {
      throw new Refusal('invalid_request', 'the form has an escape that is broken or not UTF-8');
    }
    yield [name, value];
  }
}

/** One name or value; null where an escape is broken or its bytes are not UTF-8. */
export function decodeFormText(text: string): string | null {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return null;
  }
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
}
