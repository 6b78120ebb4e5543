/** Users, API products and applications (wire.md §4). */
import {
  applicationInput,
  applicationView,
  applicationWithSecret,
  regenerateInput,
  viewApplication,
  type WithSecret,
} from '../../access/applications.ts';
import { productInput, productView, viewProduct } from '../../access/products.ts';
import { userInput, userView, viewUser } from '../../access/users.ts';
import type { Clock } from '../../ids.ts';
import type { Services } from '../../services.ts';
import { validate } from '../../validation.ts';
import { actionRoute, ok, resourceRoutes } from '../resource-routes.ts';
import { emptyInput, jsonBody, type Route } from '../route.ts';

type Dependencies = { readonly services: Pick<Services, 'users' | 'products' | 'applications'>; readonly clock: Clock };

export function accessRoutes({ services: { users, products, applications }, clock }: Dependencies): Route[] {
  const show = (application: WithSecret['application']) => viewApplication(application, clock());
  const showWithSecret = ({ application, clientSecret }: WithSecret) => ({ ...show(application), clientSecret });
  return [
    ...resourceRoutes({
      path: 'users',
      noun: 'user',
      input: userInput,
      view: userView,
      administration: users,
      create: async (body, acting) => viewUser(await users.create(body, acting)),
      show: viewUser,
    }),
    ...resourceRoutes({
      path: 'products',
      noun: 'product',
      input: productInput,
      view: productView,
      administration: products,
      create: async (body, acting) => viewProduct(await products.create(body, acting)),
      show: viewProduct,
    }),
    ...resourceRoutes({
      path: 'applications',
      noun: 'application',
      input: applicationInput,
      view: applicationView,
      createdView: applicationWithSecret,
      administration: applications,
      create: async (body, acting) => showWithSecret(await applications.create(body, acting)),
      show,
    }),
    actionRoute('applications', 'regenerate-secret', 'Make a new client secret, shown this once', {
      operationId: 'regenerateApplicationSecret',
      body: jsonBody(regenerateInput, { optional: true }),
      replies: { 200: { description: 'The application with its new secret', schema: applicationWithSecret } },
      respond: async ({ body }, id, acting) =>
        ok(showWithSecret(await applications.regenerateSecret(id, body, acting))),
    }),
    actionRoute('applications', 'revoke-tokens', 'Refuse every token issued to the application so far', {
      operationId: 'revokeApplicationTokens',
      body: jsonBody(emptyInput, { optional: true }),
      replies: { 200: { description: 'The application', schema: applicationView } },
      respond: async ({ body }, id, acting) => {
        validate(emptyInput, body);
        return ok(show(await applications.revokeTokens(id, acting)));
      },
    }),
  ];
}
