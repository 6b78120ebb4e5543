/** One sentence beside the form of an endpoint: what it will do with the values in the form; empty without an address. */
import { Refusal } from '../../kernel/refusal.ts';
import { refuseMalformedUrl } from '../../webhooks/url.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { formSummary, summaryView } from '../parts/form.ts';
import { patternsOf } from '../webhooks/webhook-events.ts';
import { patternsText } from '../webhooks/webhook-summary.ts';

const PATH = '/endpoints/new/summary';
const TITLE = 'What will happen';

/** The script asks for it again after each change. */
export function endpointSummaryRegion(sent: URLSearchParams) {
  return formSummary(TITLE, endpointSummary(sent), PATH);
}

export function endpointSummaryPage({ pages }: SharedPageDependencies): PageRoute<'both'> {
  return pages.act(PATH, 'both', 'administrator', async ({ form }) => summaryView(TITLE, endpointSummary(form)));
}

export function endpointSummary(sent: URLSearchParams): string {
  const host = hostOf(sent.get('url') ?? '');
  if (host === null) return '';
  const patterns = patternsOf(sent);
  const verification = VERIFICATIONS[sent.get('tokenChallenge') ?? ''] ?? '';
  const events =
    patterns.length === 0
      ? 'Nothing else is sent until a webhook has events for it.'
      : `A webhook of the same name sends ${patternsText(patterns)} to it${verification === '' ? ' immediately' : ', once you start it'}.`;
  return `${verification === '' ? `${host} is enabled immediately.` : `${host} ${verification}`} ${events}`;
}

const VERIFICATIONS: Readonly<Record<string, string>> = {
  true: 'gets a challenge, and is enabled once it answers with the signature of the secret.',
  cloudevents: 'gets an OPTIONS request, and is enabled once it allows requests from here.',
};

/** Null for an address that the form refuses. */
function hostOf(url: string): string | null {
  try {
    return refuseMalformedUrl('url', url.trim()).host;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
