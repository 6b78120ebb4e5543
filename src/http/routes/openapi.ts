/** `GET /services/api/openapi.json`: the OpenAPI document (contract §4.16). */
import { z } from 'zod';
import { BUILT_IN_PRODUCTS } from '../../access/built-in.ts';
import { DOCUMENT_HEADERS, documentReplies, documentReply, type Rendered, render } from '../document.ts';
import { openApiDocument } from '../openapi.ts';
import type { Route } from '../route.ts';

export const OPENAPI_PATH = '/services/api/openapi.json';

const anyDocument = z
  .looseObject({ openapi: z.string(), info: z.looseObject({ title: z.string(), version: z.string() }) })
  .meta({ id: 'OpenApiDocument', description: 'An OpenAPI document (https://spec.openapis.org/oas/v3.1.0).' });

type Dependencies = {
  /** The other documented routes. */
  readonly routes: readonly Route[];
  /** The configured public address, or the listening address. May throw before the server listens. */
  readonly publicUrl: () => string;
};

export function openApiRoutes({ routes, publicUrl }: Dependencies): Route[] {
  let rendered: (Rendered & { readonly url: string }) | null = null;

  const route: Route = {
    for: 'anyone',
    method: 'GET',
    path: OPENAPI_PATH,
    access: 'open',
    tag: 'operation',
    operationId: 'getOpenApiDocument',
    summary: 'This description of the API',
    headers: DOCUMENT_HEADERS,
    replies: { ...documentReplies(anyDocument), 503: { description: 'The public address is unknown' } },
    respond: async (call) => {
      const url = publicUrl().replace(/\/$/, '');
      if (rendered?.url !== url) {
        const all = [...routes, route];
        rendered = { url, ...render(openApiDocument({ routes: all, publicUrl: url, products: BUILT_IN_PRODUCTS })) };
      }
      return documentReply(call, rendered, 'public, max-age=300');
    },
  };
  return [route];
}
