/** Users, API products and applications (contract §4.2). */
import {
  APPLICATION_LIST,
  applicationReader,
  applicationView,
  applicationWithSecret,
  regenerateInput,
  viewApplication,
  type WithSecret,
} from '../../access/applications.ts';
import { productReader, productView, viewProduct } from '../../access/products.ts';
import { USER_LIST, userReader, userView, viewUser } from '../../access/users.ts';
import type { Clock } from '../../kernel/ids.ts';
import { validate } from '../../kernel/validation.ts';
import type { Services, SharedServices } from '../../services/services.ts';
import { changed, ETAG } from '../conditional.ts';
import { IDEMPOTENCY_KEY, type Once } from '../once.ts';
import { actionRoute, resourceRoutes } from '../resource-routes.ts';
import { jsonBody, type Route } from '../route.ts';

type Dependencies = {
  readonly services: Pick<SharedServices, 'applications'>;
  readonly clock: Clock;
  readonly once: Once;
};

export function userRoutes({ users, once }: Pick<SharedServices, 'users'> & { readonly once: Once }): Route<'both'>[] {
  return resourceRoutes({
    for: 'both',
    path: 'users',
    noun: 'user',
    reader: userReader,
    view: userView,
    administration: users,
    show: viewUser,
    showMade: (user) => ({ shown: viewUser(user) }),
    list: USER_LIST,
    once,
  });
}

export function productRoutes({
  products,
  once,
}: Pick<Services, 'products'> & { readonly once: Once }): Route<'operator'>[] {
  return resourceRoutes({
    for: 'operator',
    path: 'products',
    noun: 'product',
    reader: productReader,
    view: productView,
    administration: products,
    show: viewProduct,
    showMade: (product) => ({ shown: viewProduct(product) }),
    once,
  });
}

export function applicationRoutes({ services: { applications }, clock, once }: Dependencies): Route<'both'>[] {
  const show = (application: WithSecret['application']) => viewApplication(application, clock());
  const showWithSecret = ({ application, clientSecret }: WithSecret) => ({
    shown: show(application),
    secrets: { clientSecret },
  });
  return [
    ...resourceRoutes({
      for: 'both',
      path: 'applications',
      noun: 'application',
      reader: applicationReader,
      view: applicationView,
      createdView: applicationWithSecret,
      administration: applications,
      show,
      showMade: showWithSecret,
      list: APPLICATION_LIST,
      once,
    }),
    actionRoute('applications', 'regenerate-secret', 'Create a new secret for an application', {
      for: 'both',
      operationId: 'regenerateApplicationSecret',
      description: 'The response shows the new secret. It is not shown again.',
      headers: IDEMPOTENCY_KEY,
      body: jsonBody(regenerateInput, { optional: true }),
      replies: {
        200: { description: 'The application with its new secret', schema: applicationWithSecret, headers: ETAG },
      },
      respond: (call, id, acting) =>
        once<WithSecret>(
          call,
          (made) => changed(showWithSecret(made)),
          (beside) => applications.regenerateSecret(id, validate(regenerateInput, call.body), acting, beside),
        ),
    }),
    actionRoute('applications', 'revoke-tokens', 'Revoke all tokens of an application', {
      for: 'both',
      operationId: 'revokeApplicationTokens',
      description: 'Every token issued so far is refused.',
      replies: { 200: { description: 'The application', schema: applicationView, headers: ETAG } },
      respond: async (_, id, acting) => changed({ shown: show(await applications.revokeTokens(id, acting)) }),
    }),
  ];
}
