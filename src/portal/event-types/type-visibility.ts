/** Whether customers see an event type, and the button that changes it for built-in ones. Their forms have nothing else to change. */
import { EMPLOYEE_CATEGORY, type EventType } from '../../domain/event.ts';
import { eventTypeReader } from '../../events/event-types.ts';
import { type Html, html } from '../../http/html.ts';
import { attempted, type PageCall, pathId } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { actionButton } from '../parts/header.ts';
import { CATALOGUE_PATH } from './event-catalogue-pages.ts';

export function visibilityPages({ pages, services: { eventTypes } }: PageDependencies): PageRoute<'operator'>[] {
  const setting = (verb: 'show' | 'hide') =>
    pages.act(`/event-types/{id}/${verb}`, 'operator', 'administrator', async (call) => {
      const id = pathId(call);
      const done = verb === 'show' ? 'Customers get it now.' : 'Customers do not get it any more.';
      const patch = eventTypeReader.patch({ public: verb === 'show' });
      return attempted(`/event-types/${id}`, done, () => eventTypes.patch(id, patch, call.acting));
    });
  return [setting('show'), setting('hide')];
}

/** `isOffered`: whether the event catalogue has it. */
export function visibilityOf({ csrf, may }: PageCall, eventType: EventType, isOffered: boolean): Html {
  const { id, name, builtIn, public: isPublic } = eventType;
  const text = isOffered
    ? html`<a href="${CATALOGUE_PATH}/${name}">its page for receivers</a>`
    : isPublic && name.startsWith(EMPLOYEE_CATEGORY)
      ? html`not listed until the first one is published`
      : html`internal: only callers with a token see it`;
  const button =
    builtIn && may('administrator')
      ? actionButton({
          action: `/event-types/${id}/${isPublic ? 'hide' : 'show'}`,
          csrf,
          label: isPublic ? 'Hide from customers' : 'Show to customers',
          longLabel: `${isPublic ? 'Hide from customers' : 'Show to customers'}: ${name}`,
        })
      : null;
  return html`${text} ${button}`;
}
