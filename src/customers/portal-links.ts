/** Portal links (contract §8.10): the operator makes one, and the first person who opens it gets a session in the customer's portal. */

import { z } from 'zod';
import {
  isSessionToken,
  type NewSession,
  newSessionToken,
  USER_AGENT_KEPT_LENGTH,
  type Visitor,
} from '../access/sessions.ts';
import type { Acting } from '../domain/acting.ts';
import { type Actor, auditEntry } from '../domain/audit.ts';
import { hashCredential } from '../domain/credential.ts';
import type { PortalLink } from '../domain/customer.ts';
import { URL_MAX_LENGTH } from '../domain/limits.ts';
import type { Session } from '../domain/user.ts';
import { instant, isoInstant, urlPattern } from '../kernel/schemas.ts';
import { originOf } from '../kernel/url.ts';
import { ConstraintViolation, retryStale, StaleWrite } from '../store/port/errors.ts';
import type { Beside } from '../store/port/resource.ts';
import { customerToOpen, type PortalAccessDependencies } from './portal-access.ts';

/** How long a portal link can be opened, and how long its session lasts. */
export const PORTAL_LINK_DEFAULT_SECONDS = 600;

export const PORTAL_LINK_MIN_SECONDS = 60;

export const PORTAL_LINK_MAX_SECONDS = 86_400;

export const LINK_SESSION_DEFAULT_SECONDS = 3600;

export const LINK_SESSION_MIN_SECONDS = 300;

export const LINK_SESSION_MAX_SECONDS = 86_400;

function webAddress(description: string) {
  return z
    .string()
    .max(URL_MAX_LENGTH)
    .refine(
      isWebAddress,
      'must be an http: or https: URL without credentials, with a host of letters, digits, dots and hyphens',
    )
    .nullish()
    .meta({ description, pattern: urlPattern('[Hh][Tt][Tt][Pp][Ss]?', '') });
}

export const portalLinkInput = z
  .strictObject({
    role: z.enum(['administrator', 'viewer']),
    expiresInSeconds: z
      .int()
      .min(PORTAL_LINK_MIN_SECONDS)
      .max(PORTAL_LINK_MAX_SECONDS)
      .default(PORTAL_LINK_DEFAULT_SECONDS)
      .meta({ description: 'How long the link can be opened.' }),
    sessionSeconds: z
      .int()
      .min(LINK_SESSION_MIN_SECONDS)
      .max(LINK_SESSION_MAX_SECONDS)
      .default(LINK_SESSION_DEFAULT_SECONDS)
      .meta({ description: 'The length of the session that it opens.' }),
    returnUrl: webAddress('Where the portal leads back to: a page of your product.'),
    renewUrl: webAddress(
      'Where a browser goes when its session has ended: a page of your product that makes a new link and opens it. Not in frames.',
    ),
  })
  .meta({ id: 'PortalLinkInput', description: 'Who opens the portal of a customer, and for how long.' });
type PortalLinkInput = z.output<typeof portalLinkInput>;

export const portalLinkView = z
  .object({
    url: z.string().meta({ description: 'Works once. Anyone who opens it acts for the customer.' }),
    expiresAt: instant,
  })
  .meta({ id: 'PortalLink', description: "A link that opens the customer's portal once." });

export function viewPortalLink(publicUrl: string, { token, expiresAt }: NewPortalLink): z.infer<typeof portalLinkView> {
  return { url: `${publicUrl}${PORTAL_LINKS_PATH}/${token}`, expiresAt: isoInstant(expiresAt) };
}

/** The session of a link, and where its browser goes for a new link when it has ended. */
export type OpenedLink = NewSession & { readonly renewUrl: string | null };

/** The token is never shown again. Anyone who has it can act for the customer. */
export type NewPortalLink = { readonly token: string; readonly expiresAt: number };

export type PortalLinks = {
  /**
   * Makes a link. Throws 404 for an unknown customer, 409 for a suspended one, and 401 `insufficient_permission` for a role with rights
   * that the caller lacks.
   */
  create(
    customer: string,
    input: PortalLinkInput,
    acting: Acting,
    beside?: Beside<NewPortalLink>,
  ): Promise<NewPortalLink>;
  /** Where a new link comes from: the `renewUrl` of this one, also after its use. Null without one, or for an unknown link. */
  renewUrlOf(token: string): Promise<string | null>;
  /**
   * Begins the session of a link. Null if it was used, has expired, or its customer is suspended. Of concurrent calls, one succeeds.
   * `by`: who opens it, if that is known; else the audit log has the link.
   */
  open(token: string, visitor: Visitor, by?: Actor): Promise<OpenedLink | null>;
};

export function createPortalLinks({ store, clock, ids, random, customers }: PortalAccessDependencies): PortalLinks {
  const find = async (token: string): Promise<PortalLink | null> =>
    isSessionToken(token) ? store.portalLinks.find(hashCredential(token), clock()) : null;
  return {
    renewUrlOf: async (token) => (isSessionToken(token) ? store.portalLinks.renewUrl(hashCredential(token)) : null),
    create: (named, input, acting, beside = () => []) =>
      retryStale(async () => {
        const customer = await customerToOpen({ store, customers }, named, input.role, acting);
        const token = newSessionToken(random);
        const now = clock();
        const link: PortalLink = {
          id: ids.uuid(),
          customerId: customer.id,
          tokenHash: hashCredential(token),
          role: input.role,
          sessionSeconds: input.sessionSeconds,
          returnUrl: input.returnUrl ?? null,
          renewUrl: input.renewUrl ?? null,
          createdAt: now,
          expiresAt: now + input.expiresInSeconds * 1000,
        };
        const { id, role, sessionSeconds, returnUrl, renewUrl, expiresAt } = link;
        const audit = auditEntry(ids, acting.actor, 'customer.create-link', `customer:${customer.id}`, {
          at: now,
          customerId: customer.id,
          changes: { link: { from: null, to: { id, role, sessionSeconds, returnUrl, renewUrl } } },
        });
        const made = { token, expiresAt };
        await store.portalLinks.add(link, audit, beside(made));
        return made;
      }),
    open: async (text, { address, userAgent }, by) => {
      const link = await find(text);
      if (link === null) return null;
      const { id, customerId, role, returnUrl } = link;
      const token = newSessionToken(random);
      const now = clock();
      const session: Session = {
        id,
        userId: null,
        customerId,
        tokenHash: hashCredential(token),
        role,
        method: 'link',
        address,
        userAgent: userAgent.slice(0, USER_AGENT_KEPT_LENGTH),
        returnUrl,
        createdAt: now,
        seenAt: now,
        expiresAt: now + link.sessionSeconds * 1000,
      };
      const audit = auditEntry(ids, by ?? `portal-link:${id}`, 'customer.open-link', `customer:${customerId}`, {
        at: now,
        customerId,
        changes: { session: { from: null, to: { id, role, address } } },
      });
      try {
        await store.portalLinks.use(link, session, audit);
      } catch (error) {
        // Someone else opened it at the same time: the link is used, or its session is there already.
        if (error instanceof StaleWrite || (error instanceof ConstraintViolation && error.kind === 'unique'))
          return null;
        throw error;
      }
      return { token, session, renewUrl: link.renewUrl };
    },
  };
}

/** The path that opens a link, followed by its token. */
export const PORTAL_LINKS_PATH = '/portal-links';

function isWebAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return originOf(url) !== null && url.username === '' && url.password === '';
}
