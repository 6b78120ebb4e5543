/** A state as a word with a shape. The colour alone never tells it. */
import { type Html, html } from '../../http/html.ts';
import { type IconName, icon } from './icon.ts';
import type { Tone } from './notice.ts';

export function badge(tone: Tone, text: string, shape: IconName = SHAPES[tone]): Html {
  return html`<span class="badge badge-${tone}">${icon(shape)}${text}</span>`;
}

const SHAPES: Readonly<Record<Tone, IconName>> = {
  positive: 'dot',
  caution: 'warning',
  negative: 'cross',
  info: 'half',
  neutral: 'ring',
};

/** The look of each state, the same on all pages. */
const STATES: Readonly<Record<string, readonly [tone: Tone, shape?: IconName]>> = {
  // Webhooks.
  stopped: ['neutral', 'stop'],
  started: ['info', 'half'],
  running: ['positive', 'dot'],
  failing: ['caution', 'warning'],
  failed: ['negative', 'cross'],
  // Deliveries.
  pending: ['info', 'clock'],
  delivered: ['positive', 'check'],
  dead: ['negative', 'cross'],
  discarded: ['neutral', 'minus'],
  // Endpoints, applications, users, keys.
  verified: ['positive', 'check'],
  unverified: ['caution', 'warning'],
  enabled: ['positive', 'dot'],
  disabled: ['neutral', 'stop'],
  active: ['positive', 'dot'],
  inactive: ['neutral', 'stop'],
  expired: ['negative', 'cross'],
  expiring: ['caution', 'clock'],
  valid: ['positive', 'check'],
};

/** The badge of a state by its name: `running`, `delivered`, `verified`, `expired`… */
export function stateBadge(state: string): Html {
  const [tone, shape] = STATES[state] ?? (['neutral'] as const);
  return shape === undefined ? badge(tone, state) : badge(tone, state, shape);
}

/** A plain word in a frame, such as an event type or a scope. */
export function tag(text: string): Html {
  return html`<span class="tag">${text}</span>`;
}

export function tags(texts: readonly string[]): Html {
  return html`<span class="tags">${texts.map(tag)}</span>`;
}
