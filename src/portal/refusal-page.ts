/** The page for a refusal: what happened, and what to do. */
import { html } from '../http/html.ts';
import type { Refusal } from '../kernel/refusal.ts';
import type { View } from './call.ts';
import { linkButton } from './parts/header.ts';
import { sentence } from './parts/text.ts';

/** The reason to refuse a form that came without its cookie. */
export const NO_COOKIE = 'the browser did not bring the cookie';

export function refusalView(refusal: Refusal, errorId: string, isSignedIn: boolean): View {
  const { title, text } = wording(refusal);
  const back = isSignedIn
    ? linkButton({ href: '/', label: 'Overview' })
    : linkButton({ href: '/sign-in', label: 'Sign in' });
  const content = html`<div class="refusal">
<p class="refusal-status">${refusal.status}</p>
<h1>${title}</h1>
<p>${text}</p>
${refusal.status >= 500 ? html`<p class="quiet">The log of the service says more under <code>${errorId}</code>.</p>` : null}
<p>${back}</p>
</div>`;
  return { title, content, partial: content };
}

function wording({ code, message }: Refusal): { title: string; text: string } {
  if (code === 'forbidden' && message.startsWith('this takes')) {
    return { title: 'Your role does not allow this', text: `${sentence(message)} Ask an administrator.` };
  }
  if (message === NO_COOKIE) {
    return {
      title: 'Your browser did not bring the cookie',
      text: 'Forms here need one. Allow cookies for this site, and open it by https:// (on the machine itself http://localhost will do), where browsers keep it. Then load the page again.',
    };
  }
  if (code === 'unavailable') {
    return {
      title: 'This is not possible right now',
      text: `${sentence(message)} Nothing was changed. Try again in a few seconds.`,
    };
  }
  return FIXED[code] ?? { title: 'That did not work', text: sentence(message) };
}

const FIXED: Readonly<{ [code in Refusal['code']]?: { title: string; text: string } }> = {
  forbidden: {
    title: 'Please send that form again',
    text: 'The page it came from was open for too long, or belongs to another session. Go back, load it again and send it once more.',
  },
  not_found: { title: 'There is nothing here', text: 'The address is wrong, or what was here has been deleted.' },
  method_not_allowed: {
    title: 'Nothing to look at',
    text: 'This address takes what a button sends, and shows nothing by itself.',
  },
  ambiguous_path: { title: 'There is nothing here', text: 'The address has characters in it that none of ours has.' },
  server_error: {
    title: 'Something went wrong',
    text: 'It is not your doing. Try again; if it stays, look at the log.',
  },
  content_too_large: { title: 'That is too large', text: 'A form here takes up to 1 MiB.' },
};
