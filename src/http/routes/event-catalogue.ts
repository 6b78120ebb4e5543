/**
 * The event catalogue, and the same as AsyncAPI 3 and as TypeScript (contract §11.2): the types that are offered for everyone, all types
 * for the operator.
 */
import { z } from 'zod';
import type { Gate } from '../../access/gate.ts';
import type { EventType } from '../../domain/event.ts';
import { type FormatSettings, WEBHOOK_FORMATS } from '../../domain/webhook-format.ts';
import { asyncApiDocument, catalogueView, eventCatalogue, viewCatalogue } from '../../events/catalogue.ts';
import { typesModule } from '../../events/typescript.ts';
import { refuseField } from '../../kernel/refusal.ts';
import { TRUE_OR_FALSE } from '../../resources/list-rules.ts';
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
const flag = z.enum(TRUE_OR_FALSE).default('false');

type Dependencies = { readonly eventTypes: Pick<EventTypeStore, 'all' | 'offered' | 'version'>; readonly gate: Gate };

export function eventCatalogueRoutes({ eventTypes, gate }: Dependencies): Route[] {
  const documentRoute = (
    about: Pick<Route, 'path' | 'operationId' | 'summary'>,
    schema: z.ZodType,
    renderOf: (shown: readonly EventType[], settings: FormatSettings) => Rendered,
    mediaType?: string,
    query?: Route['query'],
  ): Route => {
    // Anyone may ask, so a document is made once for each version of the event types.
    const made = new Map<string, Rendered & { readonly version: string }>();
    return {
      ...about,
      for: 'anyone',
      method: 'GET',
      access: 'open',
      authentication: { by: ['none', 'bearer'], scope: 'webhooks:view' },
      tag: 'event-types',
      description:
        'The event types that webhooks can subscribe to, with samples. Without a token only the `public` ones.',
      headers: DOCUMENT_HEADERS,
      ...(query !== undefined && { query }),
      replies: {
        ...documentReplies(schema, mediaType),
        401: { description: 'The token is not valid, or does not hold the scope' },
      },
      respond: async (call) => {
        const { authorization = [] } = call.request.headersDistinct;
        const caller = authorization.length === 0 ? null : await gate.authenticate(authorization);
        // A caller whose token does not give access gets a refusal, instead of fewer types than expected.
        if (caller !== null) gate.authorize(caller, 'GET', CATALOGUE_PATH.slice(1).split('/'));
        const sees = caller?.customerId === null ? 'all' : 'public';
        const version = await eventTypes.version();
        const settings = readFormat(call.query);
        const key = `${sees} ${Object.values(settings).join(' ')}`;
        let rendered = made.get(key);
        if (rendered?.version !== version) {
          const types = await (sees === 'all' ? eventTypes.all() : eventTypes.offered());
          rendered = { version, ...renderOf(eventCatalogue(types, sees), settings) };
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
        summary: 'Read the event catalogue',
      },
      catalogueView,
      (shown) => render(viewCatalogue(shown)),
    ),
    documentRoute(
      { path: ASYNC_API_PATH, operationId: 'getAsyncApiDocument', summary: 'Read the event catalogue as AsyncAPI 3' },
      anyDocument,
      (shown, settings) => render(asyncApiDocument(shown, settings)),
      undefined,
      {
        format: { schema: formats, description: 'The format of the webhook that gets the events.' },
        batch: { schema: flag, description: 'As the webhook says. Only with the format `cloudevents`.' },
        thin: { schema: flag, description: 'As the webhook says. Not with the format `records`.' },
      },
    ),
    documentRoute(
      {
        path: TYPES_PATH,
        operationId: 'getEventTypesTypeScript',
        summary: 'Read the data of events as TypeScript types',
      },
      z.string(),
      (shown) => renderText(typesModule(shown)),
      'text/plain',
    ),
  ];
}

/** Throws 400, as for a webhook with these settings. */
function readFormat(query: URLSearchParams): FormatSettings {
  const asked = query.get('format') ?? 'records';
  const format = WEBHOOK_FORMATS.find((name) => name === asked);
  if (format === undefined) throw refuseField('format', `must be one of ${WEBHOOK_FORMATS.join(', ')}`);
  const [batch, thin] = [readFlag(query, 'batch'), readFlag(query, 'thin')];
  if (batch && format !== 'cloudevents') throw refuseField('batch', 'needs the format cloudevents');
  if (thin && format === 'records') throw refuseField('thin', 'needs another format than records');
  return { format, batch, thin };
}

function readFlag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name) ?? 'false';
  if (text !== 'true' && text !== 'false') throw refuseField(name, 'must be true or false');
  return text === 'true';
}
