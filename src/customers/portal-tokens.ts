/** Portal tokens (contract §8.10): short-lived tokens of a customer, for a host that draws pages of its own. */

import { z } from 'zod';
import type { Acting } from '../domain/acting.ts';
import { auditEntry } from '../domain/audit.ts';
import { hashCredential, mintCredential } from '../domain/credential.ts';
import type { Session } from '../domain/user.ts';
import { instant, isoInstant } from '../kernel/schemas.ts';
import { retryStale } from '../store/port/errors.ts';
import type { Beside } from '../store/port/resource.ts';
import { customerToOpen, type PortalAccessDependencies } from './portal-access.ts';

/** How long a portal token is valid. */
export const PORTAL_TOKEN_DEFAULT_SECONDS = 900;
export const PORTAL_TOKEN_MIN_SECONDS = 60;
export const PORTAL_TOKEN_MAX_SECONDS = 3600;

export const portalTokenInput = z
  .strictObject({
    role: z.enum(['administrator', 'viewer']),
    expiresInSeconds: z
      .int()
      .min(PORTAL_TOKEN_MIN_SECONDS)
      .max(PORTAL_TOKEN_MAX_SECONDS)
      .default(PORTAL_TOKEN_DEFAULT_SECONDS)
      .meta({ description: 'How long the token is valid.' }),
  })
  .meta({ id: 'PortalTokenInput', description: 'What the token may do for the customer, and for how long.' });
type PortalTokenInput = z.output<typeof portalTokenInput>;

export const portalTokenView = z
  .object({
    token: z.string().meta({ description: 'For `Authorization: Bearer`. Anyone who has it acts for the customer.' }),
    expiresAt: instant,
  })
  .meta({ id: 'PortalToken', description: 'A short-lived token of a customer.' });

export function viewPortalToken({ token, expiresAt }: NewPortalToken): z.infer<typeof portalTokenView> {
  return { token, expiresAt: isoInstant(expiresAt) };
}

/** The token is never shown again. */
export type NewPortalToken = { readonly token: string; readonly expiresAt: number };

export type PortalTokens = {
  /**
   * Makes a token. Throws 404 for an unknown customer, 409 for a suspended one, and 401 `insufficient_permission` for a role with rights
   * that the caller lacks.
   */
  create(
    customer: string,
    input: PortalTokenInput,
    acting: Acting,
    beside?: Beside<NewPortalToken>,
  ): Promise<NewPortalToken>;
};

export function createPortalTokens({ store, clock, ids, random, customers }: PortalAccessDependencies): PortalTokens {
  return {
    create: (named, { role, expiresInSeconds }, acting, beside = () => []) =>
      retryStale(async () => {
        const customer = await customerToOpen({ store, customers }, named, role, acting);
        const token = mintCredential('spp', random);
        const now = clock();
        const session: Session = {
          id: ids.uuid(),
          userId: null,
          customerId: customer.id,
          tokenHash: hashCredential(token),
          role,
          method: 'token',
          address: '',
          userAgent: '',
          returnUrl: null,
          createdAt: now,
          seenAt: now,
          expiresAt: now + expiresInSeconds * 1000,
        };
        const { id, expiresAt } = session;
        const audit = auditEntry(ids, acting.actor, 'customer.create-token', `customer:${customer.id}`, {
          at: now,
          customerId: customer.id,
          changes: { token: { from: null, to: { id, role, expiresInSeconds } } },
        });
        const made = { token, expiresAt };
        await store.portalLinks.addToken(session, audit, beside(made));
        return made;
      }),
  };
}
