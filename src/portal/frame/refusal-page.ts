/** The page for a refusal: the problem, and what to do. */
import { ADMIN_REQUEST_BYTES } from '../../domain/limits.ts';
import type { PortalTheme } from '../../domain/portal-theme.ts';
import type { PortalRole, SignedIn } from '../../domain/user.ts';
import { html } from '../../http/html.ts';
import { Refusal, type Repeat } from '../../kernel/refusal.ts';
import { operatorName } from '../parts/brand.ts';
import { buttonRow, linkButton } from '../parts/header.ts';
import { roleText } from '../parts/role-texts.ts';
import { sentence, sizeText } from '../parts/text.ts';
import type { View } from './call.ts';
import { pageAbove } from './navigation.ts';

/** The browser did not send the session cookie, the form is too old or from another site, or the page needs another role. */
type PageProblem = 'no cookie' | 'form' | 'role';

/** A page or a form is not for this visitor. */
export class PageRefusal extends Refusal {
  readonly problem: PageProblem;

  constructor(problem: PageProblem, description: string) {
    super('forbidden', description);
    this.problem = problem;
  }
}

/** `session` is that of a user whose role is lower. */
export function roleRefusal(
  takes: PortalRole,
  { role, customerId }: Pick<SignedIn, 'role' | 'customerId'>,
): PageRefusal {
  const [needed, own] = [takes, role].map((one) => roleText(one, customerId !== null).label);
  return new PageRefusal('role', `this needs the role ${needed}, and yours is ${own}`);
}

type RefusedVisit = {
  readonly errorId: string;
  readonly isSignedIn: boolean;
  readonly path: string;
  /** The look of the customers' portal; null in the operator's. */
  readonly brand: PortalTheme | null;
};

/** For a path that names something that is gone, it leads to the list that the path begins with. */
export function refusalView(refusal: Refusal, { errorId, isSignedIn, path, brand }: RefusedVisit): View {
  const { title, text } = wording(refusal);
  const number =
    brand === null
      ? 'The log of the service has more under'
      : `If it happens again, tell ${operatorName(brand)} this number:`;
  const above = pageAbove(path, brand !== null);
  const list =
    isSignedIn && refusal.status === 404 && above !== null
      ? linkButton({ href: above.path, label: above.label, kind: 'primary' })
      : null;
  // Without a session, the first page leads to the form or to the way in.
  const back = isSignedIn
    ? linkButton({ href: '/', label: 'Overview' })
    : linkButton({ href: '/', label: 'To the portal' });
  const content = html`
    <div class="refusal">
      <p class="refusal-status">${refusal.status}</p>
      <h1>${title}</h1>
      <p>${text}</p>
      ${refusal.status >= 500 ? html`<p class="quiet">${number} <code>${errorId}</code></p>` : null}
      ${buttonRow([list, back])}
    </div>
  `;
  return { title, content, partial: content };
}

type Wording = { readonly title: string; readonly text: string };

function wording(refusal: Refusal): Wording {
  const { code, message, repeat } = refusal;
  if (refusal instanceof PageRefusal) return pageWording(refusal);
  if (code === 'unavailable') {
    const advice = repeat === null ? '' : ADVICE[repeat];
    return { title: 'This is not possible right now', text: `${sentence(message)}${advice}` };
  }
  return FIXED[code] ?? { title: 'That did not work', text: sentence(message) };
}

/** Some requests write several times, so the writes before the refused one may be kept. `after a look`: the message says it. */
const ADVICE: Readonly<Record<Repeat, string>> = {
  soon: ' Your request was not completed. Try again in a few seconds.',
  'once fixed': ' Your request was not completed. Try again once this is fixed.',
  'after a look': '',
};

function pageWording({ problem, message }: PageRefusal): Wording {
  switch (problem) {
    case 'role':
      return { title: 'Your role does not allow this', text: `${sentence(message)} Ask an administrator.` };
    case 'no cookie':
      return {
        title: 'Your browser did not send the session cookie',
        text:
          'Forms here need it. Allow cookies for this site, and open it by https:// (on the machine itself ' +
          'http://localhost will do), where browsers keep it. Then load the page again.',
      };
    case 'form':
      return {
        title: 'Please send that form again',
        text: 'The page it came from was open for too long, or belongs to another session. Go back, load it again and send it once more.',
      };
  }
}

const FIXED: Readonly<{ [code in Refusal['code']]?: Wording }> = {
  not_found: { title: 'There is nothing here', text: 'The address is wrong, or the page has been deleted.' },
  method_not_allowed: {
    title: 'Nothing to look at',
    text: 'This address only accepts form submissions; there is no page to show.',
  },
  ambiguous_path: { title: 'There is nothing here', text: 'The address contains invalid characters.' },
  server_error: {
    title: 'Something went wrong',
    text: 'This is our fault, not yours. Try again.',
  },
  content_too_large: { title: 'That is too large', text: `Forms accept up to ${sizeText(ADMIN_REQUEST_BYTES)}.` },
};
