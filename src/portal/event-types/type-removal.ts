/** The deletion of an event type: what keeps it, and what happens when it is gone. */
import type { EventType } from '../../domain/event.ts';
import { type Html, html } from '../../http/html.ts';
import type { Uses } from '../../store/port/directory.ts';
import { EVENTS_COUNTED } from '../parts/limits.ts';
import { type HeldRecord, removalSection } from '../parts/removal.ts';
import { countOf } from '../parts/text.ts';
import { usesList } from '../record/record-pages.ts';

const REMOVABLE = 'No webhook names it in full, so it can be deleted. Published events stay.';

/** `naming`: the webhooks that name it, which keep it; null for none. */
export function removal({ id, name }: EventType, naming: Uses | null): Html {
  const held = naming === null ? null : heldByName(name, naming);
  return removalSection({ path: `/event-types/${id}`, noun: 'event type', text: REMOVABLE, held });
}

function heldByName(name: string, uses: Uses): HeldRecord {
  return {
    title: `${uses.count === 1 ? 'A webhook names' : `${uses.count} webhooks name`} it, so it cannot be deleted.`,
    text: 'First remove it from the events of these webhooks:',
    list: usesList(uses, webhooksOf(name)),
  };
}

/** The consequences of a deletion. `volume`: its events in 24 hours; `webhooks`: how many get it. */
export function lossText(volume: number, webhooks: number): Html {
  const got =
    webhooks === 0 ? 'No webhook gets it' : `${countOf(webhooks, 'webhook')} get${webhooks === 1 ? 's' : ''} it`;
  return html`
    <div class="prose">
      <p>${got}. Published in the last 24 hours: ${volumeText(volume)}.</p>
      <p>
        Programs that publish it get an error from now on. Published events stay and are still delivered. This cannot be
        undone.
      </p>
    </div>
  `;
}

/** The webhooks that subscribe to a type. */
export function webhooksOf(name: string): string {
  return `/webhooks?${new URLSearchParams({ event: name })}`;
}

/** The events of 24 hours, counted up to `EVENTS_COUNTED`. */
export function volumeText(volume: number): Html {
  if (volume === 0) return html`<span class="quiet">none</span>`;
  return html`${volume > EVENTS_COUNTED ? `more than ${countOf(EVENTS_COUNTED, 'event')}` : countOf(volume, 'event')}`;
}
