/** Customers and the links to their portals (contract §8.1, §8.10). */
import {
  CUSTOMER_LIST,
  type Customers,
  customerReader,
  customerView,
  viewCustomer,
} from '../../customers/customers.ts';
import {
  type NewPortalLink,
  type PortalLinks,
  portalLinkInput,
  portalLinkView,
  viewPortalLink,
} from '../../customers/portal-links.ts';
import {
  type NewPortalToken,
  type PortalTokens,
  portalTokenInput,
  portalTokenView,
  viewPortalToken,
} from '../../customers/portal-tokens.ts';
import { validate } from '../../kernel/validation.ts';
import { IDEMPOTENCY_KEY, type Once } from '../once.ts';
import { actionRoute, resourceRoutes } from '../resource-routes.ts';
import { jsonBody, type Route } from '../route.ts';

type Dependencies = {
  readonly services: {
    readonly customers: Customers;
    readonly portalLinks: PortalLinks;
    readonly portalTokens: PortalTokens;
  };
  readonly once: Once;
  /** The public address of the service. Throws `unavailable` if it is unknown. */
  readonly publicUrl: () => string;
};

export function customerRoutes({
  services: { customers, portalLinks, portalTokens },
  once,
  publicUrl,
}: Dependencies): Route<'operator'>[] {
  return [
    ...resourceRoutes({
      for: 'operator',
      path: 'customers',
      noun: 'customer',
      reader: customerReader,
      view: customerView,
      administration: customers,
      show: viewCustomer,
      showMade: (customer) => ({ shown: viewCustomer(customer) }),
      list: CUSTOMER_LIST,
      once,
    }),
    actionRoute('customers', 'portal-links', "Make a link that opens the customer's portal once", {
      for: 'operator',
      operationId: 'createPortalLink',
      headers: IDEMPOTENCY_KEY,
      body: jsonBody(portalLinkInput),
      replies: { 201: { description: 'The link, shown only once', schema: portalLinkView } },
      respond: async (call, id, acting) => {
        const input = validate(portalLinkInput, call.body);
        const address = publicUrl();
        return once<NewPortalLink>(
          call,
          (made) => {
            const body = viewPortalLink(address, made);
            return { status: 201, headers: { Location: body.url }, body };
          },
          (beside) => portalLinks.create(id, input, acting, beside),
        );
      },
    }),
    actionRoute('customers', 'portal-tokens', 'Make a short-lived token of the customer', {
      for: 'operator',
      operationId: 'createPortalToken',
      headers: IDEMPOTENCY_KEY,
      body: jsonBody(portalTokenInput),
      replies: { 201: { description: 'The token, shown only once', schema: portalTokenView, hasNoAddress: true } },
      respond: async (call, id, acting) => {
        const input = validate(portalTokenInput, call.body);
        return once<NewPortalToken>(
          call,
          (made) => ({ status: 201, body: viewPortalToken(made) }),
          (beside) => portalTokens.create(id, input, acting, beside),
        );
      },
    }),
  ];
}
