/** Icons, badges and notices. The state is never shown only by colour. */
import type { EventFilter } from '../../domain/filter.ts';
import { filterText } from '../../domain/filter-text.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { countText } from './text.ts';

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
  suspended: ['neutral', 'stop'],
  expired: ['negative', 'cross'],
  expiring: ['caution', 'clock'],
  valid: ['positive', 'check'],
  // Instances and standbys.
  alive: ['positive', 'dot'],
  streaming: ['positive', 'dot'],
};

/** The badge of a state by its name: `running`, `delivered`, `verified`, `expired`… */
export function stateBadge(state: string): Html {
  const [tone, shape] = STATES[state] ?? (['neutral'] as const);
  return shape === undefined ? badge(tone, state) : badge(tone, state, shape);
}

/** A plain word in a frame, such as an event type or a scope. */
function tag(text: string): Html {
  return html`<span class="tag">${text}</span>`;
}

/** The first texts; `more`: how many there are beside them, and `last` comes after them. */
export function tags(texts: readonly string[], more = 0, last: Html | null = null): Html {
  const rest = more > 0 ? html`<span class="quiet">+${countText(more)}</span>` : null;
  return html`<span class="tags">${texts.map(tag)}${rest}${last}</span>`;
}

/** Beside the event types of a webhook that gets only some of their events, with the condition in words. Null without a filter. */
export function filterChip(filter: EventFilter | null): Html | null {
  if (filter === null) return null;
  const condition = `only if ${filterText(filter)}`;
  return html`
    <span class="tag tag-filter" title="${condition}">filtered<span class="visually-hidden">: ${condition}</span></span>
  `;
}

export type Tone = 'positive' | 'caution' | 'negative' | 'info' | 'neutral';

type Notice = {
  readonly tone: Tone;
  readonly title?: string | undefined;
  readonly text: string | Html;
  /** Set for a message after a redirect, which screen readers announce. */
  readonly isFlash?: boolean | undefined;
};

export const TONE_ICONS: Readonly<Record<Tone, IconName>> = {
  positive: 'check',
  caution: 'warning',
  negative: 'cross',
  info: 'info',
  neutral: 'info',
};

export function notice({ tone, title, text, isFlash }: Notice): Html {
  const role = isFlash === true ? (tone === 'negative' ? 'alert' : 'status') : null;
  return html`
    <div class="notice notice-${tone}${isFlash === true ? ' flash' : ''}"${attributes({ role })}>
      ${icon(TONE_ICONS[tone])}
      <div>
        ${title === undefined ? null : html`<p class="notice-title">${title}</p>`}
        <div class="notice-text">${text}</div>
      </div>
    </div>
  `;
}

/** Strokes in a 20 by 20 square. */
const PATHS = {
  gate: 'M3 18V9a7 7 0 0 1 14 0v9M7 18v-8a3 3 0 0 1 6 0v8',
  overview: 'M3 3h6v8H3zM11 3h6v4h-6zM11 9h6v8h-6zM3 13h6v4H3z',
  endpoint: 'M10 2.5l6.5 3.8v7.4L10 17.5l-6.5-3.8V6.3zM3.5 6.3L10 10m0 0l6.5-3.7M10 10v7.5',
  webhook:
    'M8 11.5L5 16m5-10.5a2.5 2.5 0 1 0-3 2.4M10 7l3 5m-7 4h7.5M5 13.500a2.5 2.5 0 1 0 2.500 2.500m5.500-1.600a2.5 2.5 0 1 0 .5-.4',
  event: 'M11 2.500L4 11.500h5l-.5 6 7.500-9.500h-5z',
  key: 'M12.500 8.500a4 4 0 1 0-3.600 4l1.600-1.600h2V9l.3-.3zM12 9l5 5v2.500h-2.500l-4-4M6.800 7.800h.01',
  delivery: 'M2.500 10l15-7-5 14.500-3-6zM9.500 11.500l8-8.500',
  application: 'M3 3.500h14v13H3zM3 7h14M5.500 5.300h.01M7.500 5.300h.01',
  customer: 'M3 17V6.500L10 3l7 3.500V17M3 17h14M8 17v-4h4v4M7 9h.01M13 9h.01',
  user: 'M10 10a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM3.500 17.500a6.500 6.500 0 0 1 13 0',
  product:
    'M7.500 3h-1a2 2 0 0 0-2 2v3a2 2 0 0 1-2 2 2 2 0 0 1 2 2v3a2 2 0 0 0 2 2h1' +
    'M12.500 3h1a2 2 0 0 1 2 2v3a2 2 0 0 0 2 2 2 2 0 0 0-2 2v3a2 2 0 0 1-2 2h-1',
  tester: 'M8 7.500a2.200 2.200 0 1 1 3 2c-.7.400-1 .9-1 1.700M10 14.300h.01M10 18a8 8 0 1 0 0-16 8 8 0 0 0 0 16z',
  usage: 'M4 17v-5M8 17V7M12 17v-7M16 17V3',
  instances: 'M3 3h14v5H3zM3 12h14v5H3zM6 5.500h.01M6 14.500h.01',
  audit: 'M5 2.500h10v15H5zM7.500 6.500h5M7.500 10h5M7.500 13.500h3',
  settings:
    'M4 5.500h7m4 0h1M4 14.500h1m4 0h7M13 7.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7 16.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  menu: 'M3 5.500h14M3 10h14M3 14.500h14',
  up: 'M5.500 12l4.500-4.500L14.500 12',
  down: 'M5.500 8l4.500 4.500L14.500 8',
  light:
    'M10 13.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM10 2v1.500M10 16.500V18M2 10h1.500M16.500 ' +
    '10H18M4.300 4.300l1.100 1.100M14.600 14.600l1.100 1.100M4.300 15.700l1.100-1.100M14.600 5.400l1.100-1.100',
  dark: 'M16.500 12A7 7 0 0 1 8 3.500a7 7 0 1 0 8.500 8.500z',
  system: 'M2.500 3.500h15v10h-15zM7 17h6M10 13.500V17',
  leave: 'M8 3H4v14h4M9 10h8m-3-3.500L17.500 10 14 13.500',
  copy: 'M7 7h9.500v9.500H7zM13 7V3.500H3.500V13H7',
  check: 'M4 10.500l4 4 8-9',
  cross: 'M5 5l10 10M15 5L5 15',
  warning: 'M10 3l8 14H2zM10 8v4M10 14.500h.01',
  info: 'M10 9v5M10 6.500h.01M10 18a8 8 0 1 0 0-16 8 8 0 0 0 0 16z',
  plus: 'M10 4v12M4 10h12',
  minus: 'M4 10h12',
  next: 'M8 5l5 5-5 5',
  previous: 'M12 5l-5 5 5 5',
  search: 'M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zM13.500 13.500L17.500 17.500',
  clock: 'M10 18a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM10 5.500V10l3 2',
  dot: 'M10 6a4 4 0 1 0 0 8 4 4 0 0 0 0-8z',
  ring: 'M10 4.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11z',
  half: 'M10 4.500a5.500 5.500 0 1 0 0 11zM10 4.500a5.500 5.500 0 0 1 0 11',
  replay: 'M4 10a6 6 0 1 0 2-4.500M4 3v4h4',
  play: 'M6 4l10 6-10 6z',
  stop: 'M5 5h10v10H5z',
  send: 'M3 10h12m-5-5.500L15.500 10 10 15.500',
  book: 'M10 5.500C8.500 4 6 3.500 3 3.500v12c3 0 5.500.5 7 2 1.500-1.500 4-2 7-2v-12c-3 0-5.500.5-7 2zM10 5.500v12',
  download: 'M10 3v9m-4-4l4 4 4-4M3.500 16.500h13',
  trash: 'M3.500 5.500h13M8 5.500V3.500h4v2M5.500 5.500l.8 11h7.400l.8-11',
  edit: 'M3.500 16.500l1-4L13.500 3.500l3 3-9 9zM11.500 5.500l3 3',
} as const;

export type IconName = keyof typeof PATHS;

/** Filled, to tell states apart at a glance. */
const FILLED: readonly IconName[] = ['dot', 'half', 'play', 'stop'];

export function icon(name: IconName): Html {
  const kind = FILLED.includes(name) ? 'icon icon-filled' : 'icon';
  return html`
    <svg class="${kind}" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false">
      <path d="${PATHS[name]}"/>
    </svg>
  `;
}
