/**
 * The event catalogue, and the same as AsyncAPI 3 and as TypeScript (contract §11): public types for everybody, all types for the
 * operator.
 */
import { z } from 'zod';
import type { Gate } from '../../access/gate.ts';
import type { EventType } from '../../domain/event.ts';
import { WEBHOOK_FORMATS, type WebhookFormat } from '../../domain/webhook-format.ts';
import { asyncApiDocument, catalogueView, eventCatalogue, viewCatalogue } from '../../events/catalogue.ts';
import { typesModule } from '../../events/typescript.ts';
import { refuseField } from '../../kernel/refusal.ts';
import type { EventTypeStore } from '../../store/port/events.ts';
import { DOCUMENT_HEADERS, documentReplies, documentReply, type Rendered, render, renderText } from '../document.ts';
import type { Route } from '../route.ts';

const CATALOGUE_PATH = '/services/api/event-catalogue';
const ASYNC_API_PATH = '/services/api/asyncapi.json';
const TYPES_PATH = '/services/api/event-catalogue.d.ts';

const anyDocument = z.looseObject({ asyncapi: z.string() }).meta({
  id: 'AsyncApiDocument',
  description: 'An AsyncAPI document (https://www.asyncapi.com).',
});

const formats = z.enum(WEBHOOK_FORMATS).default('records');

type Dependencies = { readonly eventTypes: Pick<EventTypeStore, 'all' | 'version'>; readonly gate: Gate };

export function eventCatalogueRoutes({ eventTypes, gate }: Dependencies): Route[] {
  const documentRoute = (
    about: Pick<Route, 'path' | 'operationId' | 'summary'>,
    schema: z.ZodType,
    renderOf: (shown: readonly EventType[], format: WebhookFormat) => Rendered,
    mediaType?: string,
    query?: Route['query'],
  ): Route => {
    // Anybody may ask, so a document is made once for each version of the event types.
    const made = new Map<string, Rendered & { readonly version: string }>();
    return {
      ...about,
      for: 'anyone',
      method: 'GET',
      access: 'open',
      authentication: { by: ['none', 'bearer'], scope: 'webhooks:view' },
      tag: 'event-types',
      description: 'Without a token: the event types that are `public`.',
      headers: DOCUMENT_HEADERS,
      ...(query !== undefined && { query }),
      replies: {
        ...documentReplies(schema, mediaType),
        401: { description: 'The token is not valid, or does not hold the scope' },
      },
      respond: async (call) => {
        const { authorization = [] } = call.request.headersDistinct;
        const caller = authorization.length === 0 ? null : await gate.authenticate(authorization);
        // A caller whose token is not good for it learns that, instead of getting fewer types than expected.
        if (caller !== null) gate.authorize(caller, 'GET', CATALOGUE_PATH.slice(1).split('/'));
        const sees = caller?.customerId === null ? 'all' : 'public';
        const version = await eventTypes.version();
        const format = readFormat(call.query);
        const key = `${sees} ${format}`;
        let rendered = made.get(key);
        if (rendered?.version !== version) {
          rendered = { version, ...renderOf(eventCatalogue(await eventTypes.all(), sees), format) };
          made.set(key, rendered);
        }
        return documentReply(call, rendered, caller === null ? 'no-cache' : 'private, no-cache', mediaType);
      },
    };
  };
  return [
    documentRoute(
      {
        path: CATALOGUE_PATH,
        operationId: 'getEventCatalogue',
        summary: 'The event types that webhooks can subscribe to, with samples',
      },
      catalogueView,
      (shown) => render(viewCatalogue(shown)),
    ),
    documentRoute(
      { path: ASYNC_API_PATH, operationId: 'getAsyncApiDocument', summary: 'The event catalogue as AsyncAPI 3' },
      anyDocument,
      (shown, format) => render(asyncApiDocument(shown, format)),
      undefined,
      { format: { schema: formats, description: 'The format of the webhook that gets the events.' } },
    ),
    documentRoute(
      { path: TYPES_PATH, operationId: 'getEventTypesTypeScript', summary: 'The data of events as TypeScript types' },
      z.string(),
      (shown) => renderText(typesModule(shown)),
      'text/plain',
    ),
  ];
}

function readFormat(query: URLSearchParams): WebhookFormat {
  const asked = query.get('format');
  const format = WEBHOOK_FORMATS.find((name) => name === (asked ?? 'records'));
  if (format === undefined) throw refuseField('format', `must be one of ${WEBHOOK_FORMATS.join(', ')}`);
  return format;
}
