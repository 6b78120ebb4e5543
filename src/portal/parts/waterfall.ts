/** The waterfall of an attempt: the start and duration of each step. */
import { attributes, type Html, html } from '../../http/html.ts';
import type { Timings } from '../../outbound/outcome.ts';
import { spanText } from './time.ts';

type Step = { readonly name: string; readonly kind: string; readonly ms: number };

const STEPS: readonly (readonly [key: Exclude<keyof Timings, 'totalMs'>, name: string, kind: string])[] = [
  ['dnsMs', 'Name', 'dns'],
  ['connectMs', 'Connection', 'connect'],
  ['tlsMs', 'TLS', 'tls'],
  ['firstByteMs', 'First byte', 'wait'],
];

/** Null if no step was reached. Steps that a reused connection did not need are omitted. */
export function waterfall(timings: Timings): Html | null {
  const { totalMs } = timings;
  const steps = stepsOf(timings);
  if (totalMs === null && steps.length === 0) return null;
  const known = steps.reduce((sum, { ms }) => sum + ms, 0);
  const total = Math.max(totalMs ?? known, known, 1);
  let from = 0;
  const rows = steps.map((step) => {
    const made = bar(step, from, total);
    from += step.ms;
    return made;
  });
  // The rest: waiting for a free connection, and reading the body.
  const rest = total - known;
  if (steps.length > 0 && rest > total / 50) rows.push(bar({ name: 'All else', kind: 'rest', ms: rest }, from, total));
  return html`<div class="waterfall"><ol>${rows}</ol><p class="waterfall-total"><span>In all</span><span>${spanText(totalMs ?? known)}</span></p></div>`;
}

function stepsOf(timings: Timings): Step[] {
  return STEPS.flatMap(([key, name, kind]) => {
    const ms = timings[key];
    return ms === null ? [] : [{ name, kind, ms }];
  });
}

/** In thousandths of the whole. The shortest step still shows as a line. */
function bar({ name, kind, ms }: Step, from: number, total: number): Html {
  const x = Math.round((from / total) * 1000);
  const width = Math.max(Math.round((ms / total) * 1000), 4);
  const rect = attributes({ x: Math.min(x, 996), y: 0, width, height: 10, class: `waterfall-${kind}` });
  return html`<li><span>${name}</span><svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="waterfall-track" width="1000" height="10"/><rect${rect}/></svg><span>${spanText(ms)}</span></li>`;
}
