/** Reads the forms of portal pages and sends them as a browser without JavaScript does. */
import assert from 'node:assert/strict';
import { type PortalReply, request } from './portal-requests.ts';

/** Returns the fields of the form that posts to the path of `url`. Reads it from `reply`, or requests `url` without one. */
export async function formAt(url: string, token: string, reply?: PortalReply): Promise<URLSearchParams> {
  const { text } = reply ?? (await request(url, { token }));
  const action = new URL(url).pathname;
  const form = [...text.matchAll(/<form ([^>]*)>([\s\S]*?)<\/form>/g)].find(
    ([, head = '']) => attribute(head, 'action') === action,
  );
  assert.ok(form, `no form posts to ${action}: ${text}`);
  const fields = new URLSearchParams();
  for (const [, tag, head = '', inside = ''] of (form[2] ?? '').matchAll(CONTROLS)) {
    const name = attribute(head, 'name');
    if (name === null) continue;
    if (tag === 'textarea') fields.append(name, plain(inside.replace(/^\n/, '')));
    else if (tag === 'select') {
      const options = [...inside.matchAll(/<option([^>]*)>/g)].map(([, one = '']) => one);
      const chosen = options.find((option) => / selected\b/.test(option)) ?? options[0];
      if (chosen !== undefined) fields.append(name, attribute(chosen, 'value') ?? '');
    } else if (!['checkbox', 'radio'].includes(attribute(head, 'type') ?? ''))
      fields.append(name, attribute(head, 'value') ?? '');
    else if (/ checked\b/.test(head)) fields.append(name, attribute(head, 'value') ?? 'on');
  }
  return fields;
}

/** Reads a form, changes some fields and sends it. */
export function sendForm(
  url: string,
  token: string,
  form: URLSearchParams,
  typed: Readonly<Record<string, string>> = {},
): Promise<PortalReply> {
  const fields = new URLSearchParams(form);
  for (const [name, value] of Object.entries(typed)) fields.set(name, value);
  return request(url, { token, form: fields });
}

const CONTROLS = /<(input|textarea|select)((?: [a-z-]+(?:="[^"]*")?)*)>(?:([\s\S]*?)<\/\1>)?/g;

function attribute(head: string, name: string): string | null {
  const text = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(head)?.[1];
  return text === undefined ? null : plain(text);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function plain(markup: string): string {
  return markup.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '');
}
