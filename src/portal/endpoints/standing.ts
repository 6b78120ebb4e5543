/** The state of an endpoint: badges, a sentence and warnings. Pure. */
import { type Html, html } from '../../http/html.ts';
import { EXPIRY_WARNING_MS } from '../../kernel/limits/limits.ts';
import type { Uses } from '../../store/directory.ts';
import type { Endpoint } from '../../webhooks/endpoint.ts';
import { stateBadge } from '../parts/badge.ts';
import type { Tone } from '../parts/notice.ts';
import { relativeTime, time } from '../parts/time.ts';

export function endpointBadges({ enabled, verified, tokenChallenge }: Endpoint): Html[] {
  const challenge = verified ? [stateBadge('verified')] : tokenChallenge ? [stateBadge('unverified')] : [];
  return [stateBadge(enabled ? 'enabled' : 'disabled'), ...challenge];
}

export function endpointSentence({ enabled, verified, tokenChallenge, enableWhenVerified }: Endpoint): string {
  if (enabled) return 'Deliveries are sent here.';
  if (tokenChallenge && !verified) {
    return enableWhenVerified
      ? 'Nothing is sent here before it has answered the challenge. A right answer switches it on.'
      : 'Nothing is sent here. It is switched off, and it has not answered the challenge.';
  }
  return 'Nothing is sent here: somebody switched it off. Webhooks that send here do not run.';
}

export type Warning = {
  readonly about: 'challenge' | 'state' | 'certificate' | 'rotation';
  readonly tone: Tone;
  readonly text: string | Html;
};

export function endpointWarnings(endpoint: Endpoint, uses: Uses, now: number): Warning[] {
  const { lastVerification, enabled, clientCertificateExpiresAt: certificateEnds } = endpoint;
  const warnings: Warning[] = [];
  const warn = (about: Warning['about'], tone: Tone, text: string | Html): void =>
    void warnings.push({ about, tone, text });
  if (lastVerification !== null && !lastVerification.verified)
    warn('challenge', 'caution', 'The last challenge failed.');
  if (!enabled && uses.count > 0) {
    warn(
      'state',
      'caution',
      `${uses.count === 1 ? 'A webhook sends' : `${uses.count} webhooks send`} here and cannot.`,
    );
  }
  if (certificateEnds !== null && certificateEnds <= now) {
    warn('certificate', 'negative', html`The client certificate has expired (${relativeTime(certificateEnds, now)}).`);
  } else if (certificateEnds !== null && certificateEnds - now < EXPIRY_WARNING_MS) {
    warn('certificate', 'caution', html`The client certificate expires ${relativeTime(certificateEnds, now)}.`);
  }
  const secretWaits = waitsUntil(endpoint.nextSecretAt, now);
  if (secretWaits !== null) warn('rotation', 'info', html`A new secret signs from ${time(secretWaits)} on.`);
  const keyWaits = waitsUntil(endpoint.nextApiKeyAt, now);
  if (keyWaits !== null) warn('rotation', 'info', html`A new API key is sent from ${time(keyWaits)} on.`);
  return warnings;
}

/** The instant if it is in the future, or null. */
export function waitsUntil(at: number | null, now: number): number | null {
  return at !== null && at > now ? at : null;
}
