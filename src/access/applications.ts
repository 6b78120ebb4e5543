/** Registered applications: their credentials, their scopes, and the user they act as (contract §2.1, §4.2). */

import { z } from 'zod';
import type { Acting } from '../domain/acting.ts';
import {
  type Application,
  SECRET_OVERLAP_MAX_SECONDS,
  TOKEN_VALIDITY_DEFAULT_SECONDS,
  TOKEN_VALIDITY_MAX_SECONDS,
  TOKEN_VALIDITY_MIN_SECONDS,
} from '../domain/application.ts';
import { hashCredential, mintCredential, scopeName } from '../domain/credential.ts';
import { SCOPES_PER_APPLICATION_MAX } from '../domain/limits.ts';
import { type Clock, type Ids, type Random, rowKeyTime } from '../kernel/ids.ts';
import { checkAll, refuseField, refuseFields } from '../kernel/refusal.ts';
import {
  customerIdInput,
  customerIdView,
  displayName,
  distinct,
  id,
  idInput,
  instant,
  isoInstant,
} from '../kernel/schemas.ts';
import { type Administration, administer, type Stamp } from '../resources/administration.ts';
import { type BodyOf, inputReader } from '../resources/input.ts';
import { CUSTOMER_FILTER, choiceFilter, type ListRules, TRUE_OR_FALSE, textFilter } from '../resources/list-rules.ts';
import type { AccessVerbs } from '../store/port/access.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import type { Beside } from '../store/port/resource.ts';
import type { Store } from '../store/port/store.ts';
import { isScopeOfOperator } from './built-in.ts';
import { requireRightsOfApplication } from './containment.ts';

const applicationInput = z
  .strictObject({
    customerId: customerIdInput,
    name: displayName,
    userId: idInput.meta({ description: 'The user that it acts as.' }),
    accessTokenValiditySeconds: z
      .int()
      .min(TOKEN_VALIDITY_MIN_SECONDS)
      .max(TOKEN_VALIDITY_MAX_SECONDS)
      .nullish()
      // A merge patch with null returns to the default.
      .transform((seconds) => seconds ?? TOKEN_VALIDITY_DEFAULT_SECONDS)
      .meta({ description: `Absent or null: ${TOKEN_VALIDITY_DEFAULT_SECONDS}.` }),
    scopes: distinct(scopeName, SCOPES_PER_APPLICATION_MAX)
      .default([])
      .meta({ description: 'The scopes that its tokens may have.' }),
    active: z.boolean().default(true),
  })
  .meta({ id: 'ApplicationInput', description: 'A registered application.' });
export type ApplicationBody = BodyOf<typeof applicationInput>;
export type ApplicationInput = z.output<typeof applicationInput>;

export const applicationView = z
  .object({
    id,
    customerId: customerIdView,
    name: z.string(),
    userId: z.string(),
    clientId: z.string(),
    accessTokenValiditySeconds: z.int(),
    scopes: z.array(z.string()),
    active: z.boolean(),
    lastUsedAt: instant.nullable().meta({
      description:
        'When it last got a token or called with one; null: never. Using it does not change the `ETag`. ' +
        'After a crash it may be a minute behind.',
    }),
    secretCreatedAt: instant.meta({ description: 'When its client secret was made.' }),
    previousSecretExpiresAt: instant
      .nullable()
      .meta({ description: 'Until when a replaced secret is still valid; null without one.' }),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Application', description: 'A registered application.' });
export const applicationWithSecret = applicationView
  .extend({ clientSecret: z.string().meta({ description: 'Shown only once.' }) })
  .meta({ id: 'ApplicationWithSecret', description: 'An application with the client secret that was just made.' });
export type ApplicationView = z.infer<typeof applicationView>;
export const applicationReader = inputReader(applicationInput, applicationWithSecret);

export const regenerateInput = z
  .strictObject({
    overlapSeconds: z
      .int()
      .min(0)
      .max(SECRET_OVERLAP_MAX_SECONDS)
      .default(0)
      .meta({ description: 'How long the replaced secret stays valid.' }),
    revokeTokens: z.boolean().default(false).meta({ description: 'Refuses every token issued so far, too.' }),
  })
  .meta({ id: 'RegenerateSecretInput', description: 'Whether the replaced secret and the tokens stay valid.' });
type RegenerateInput = z.output<typeof regenerateInput>;

export const APPLICATION_LIST: ListRules = {
  name: 'applications',
  filters: {
    customerId: CUSTOMER_FILTER,
    clientId: textFilter('With this client id.'),
    name: textFilter('With this name.'),
    userId: textFilter('Bound to this user.'),
    active: choiceFilter(TRUE_OR_FALSE, 'Active, or not.'),
  },
  sorts: { name: 'text', lastUsedAt: 'instant' },
};

/** An application with its new secret. The secret is never shown again. */
export type WithSecret = { readonly application: Application; readonly clientSecret: string };

export type Applications = Omit<Administration<Application, ApplicationBody, ApplicationInput>, 'create'> & {
  create(
    input: ApplicationInput,
    acting: Acting,
    more?: { readonly beside?: Beside<WithSecret> | undefined },
  ): Promise<WithSecret>;
  /** Makes a new secret. The current one stays valid for `overlapSeconds`. An older one ends immediately. */
  regenerateSecret(
    id: string,
    input: RegenerateInput,
    acting: Acting,
    beside?: Beside<WithSecret>,
  ): Promise<WithSecret>;
  /** Refuses every token issued so far. */
  revokeTokens(id: string, acting: Acting): Promise<Application>;
};

type Dependencies = {
  readonly store: AccessVerbs & CustomerVerbs & Pick<Store, 'customerId'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
};

export function createApplications({ store, clock, ids, random }: Dependencies): Applications {
  const isOfCustomer = store.customerId !== null;
  const build = async (input: ApplicationInput, before: Application | null, stamp: Stamp): Promise<Application> => {
    await checkAll([
      () => refuseUnknownUser(store, input, before),
      async () => refuseScopesOfOperator(input),
      // A customer learns only that it does not hold the scope, not whether the scope exists (`contain`).
      async () => (isOfCustomer ? undefined : refuseUnknownScopes(store, input)),
    ]);
    // A token acts as the user of its application, so existing tokens must not move to another user.
    const endsTokens = before !== null && ((before.active && !input.active) || before.userId !== input.userId);
    return {
      ...stamp,
      ...input,
      scopes: input.scopes.toSorted(),
      clientId: before?.clientId ?? mintCredential('spc', random),
      // Replaced by `create`.
      secretHash: before?.secretHash ?? NO_SECRET,
      secretCreatedAt: before?.secretCreatedAt ?? stamp.createdAt,
      previousSecretHash: before?.previousSecretHash ?? null,
      previousSecretExpiresAt: before?.previousSecretExpiresAt ?? null,
      tokensRevokedThrough: endsTokens ? ids.rowKey(before.tokensRevokedThrough) : (before?.tokensRevokedThrough ?? 0),
      lastUsedAt: before?.lastUsedAt ?? null,
    };
  };
  const administration = administer<Application, ApplicationBody, ApplicationInput>(
    {
      name: 'application',
      store: store.applications,
      owners: store,
      reader: applicationReader,
      writable: ({ customerId, name, userId, accessTokenValiditySeconds, scopes, active }) => ({
        customerId,
        name,
        userId,
        accessTokenValiditySeconds,
        scopes,
        active,
      }),
      shown: (application) => viewApplication(application, clock()),
      build: async (input, before, stamp) => ({ record: await build(input, before, stamp) }),
      audited: auditedApplication,
      contain: async (acting, before, after) => {
        for (const application of [before, after]) {
          if (application === null) continue;
          const user = await store.users.get(application.userId);
          requireRightsOfApplication(acting, application.scopes, user);
        }
        if (isOfCustomer && after !== null) await refuseUnknownScopes(store, after);
      },
    },
    { clock, ids },
  );
  return {
    ...administration,
    create: async (input, acting, { beside } = {}) => {
      const clientSecret = mintCredential('sps', random);
      const secretHash = hashCredential(clientSecret);
      const application = await administration.create(input, acting, {
        complete: (built) => ({ ...built, secretHash }),
        beside: beside && ((application) => beside({ application, clientSecret })),
      });
      return { application, clientSecret };
    },
    regenerateSecret: async (id, { overlapSeconds, revokeTokens }, acting, beside) => {
      const clientSecret = mintCredential('sps', random);
      const application = await administration.change(
        id,
        'application.regenerate-secret',
        acting,
        (before, stamp) => ({
          ...before,
          updatedAt: stamp.updatedAt,
          secretHash: hashCredential(clientSecret),
          secretCreatedAt: stamp.updatedAt,
          previousSecretHash: overlapSeconds === 0 ? null : before.secretHash,
          previousSecretExpiresAt: overlapSeconds === 0 ? null : stamp.updatedAt + overlapSeconds * 1000,
          tokensRevokedThrough: revokeTokens ? ids.rowKey(before.tokensRevokedThrough) : before.tokensRevokedThrough,
        }),
        beside && ((changed) => beside({ application: changed, clientSecret })),
      );
      return { application, clientSecret };
    },
    revokeTokens: (id, acting) =>
      administration.change(id, 'application.revoke-tokens', acting, (before, { updatedAt }) => ({
        ...before,
        updatedAt,
        tokensRevokedThrough: ids.rowKey(before.tokensRevokedThrough),
      })),
  };
}

/** As the audit log compares it. */
export function auditedApplication(application: Application): Readonly<Record<string, unknown>> {
  const { secretHash, secretCreatedAt, previousSecretHash, tokensRevokedThrough, lastUsedAt, ...rest } = application;
  return {
    ...rest,
    clientSecretHash: secretHash,
    previousClientSecretHash: previousSecretHash,
    tokensRevokedAt: tokensRevokedThrough === 0 ? null : rowKeyTime(tokensRevokedThrough),
  };
}

export function viewApplication(application: Application, now: number): ApplicationView {
  const { id, customerId, name, userId, clientId, accessTokenValiditySeconds, scopes, active } = application;
  const { lastUsedAt, previousSecretExpiresAt: until } = application;
  return {
    id,
    customerId,
    name,
    userId,
    clientId,
    accessTokenValiditySeconds,
    scopes: [...scopes],
    active,
    lastUsedAt: lastUsedAt === null ? null : isoInstant(lastUsedAt),
    secretCreatedAt: isoInstant(application.secretCreatedAt),
    previousSecretExpiresAt: until !== null && until > now ? isoInstant(until) : null,
    createdAt: isoInstant(application.createdAt),
    updatedAt: isoInstant(application.updatedAt),
  };
}

/** The hash of nothing. */
const NO_SECRET: Uint8Array = new Uint8Array(32);

async function refuseUnknownUser(
  store: Dependencies['store'],
  { customerId, userId }: ApplicationInput,
  before: Application | null,
): Promise<void> {
  if (userId === before?.userId) return;
  const user = await store.users.get(userId);
  if (user === null) throw refuseField('userId', 'is not the id of a user');
  if (user.customerId !== customerId) throw refuseField('userId', 'is the id of a user of another owner');
  if (!user.active) throw refuseField('userId', 'is the id of a user that is not active');
}

/** Scopes of the built-in products that customers may not have are refused before it is known whether the caller holds them. */
function refuseScopesOfOperator({ customerId, scopes }: ApplicationInput): void {
  if (customerId === null) return;
  refuseScopes(scopes, isScopeOfOperator, 'is only for applications of the operator');
}

async function refuseUnknownScopes(
  store: Dependencies['store'],
  { scopes }: Pick<Application, 'scopes'>,
): Promise<void> {
  const declared = new Set((await store.products.all()).flatMap((product) => product.scopes.map(({ name }) => name)));
  refuseScopes(scopes, (scope) => !declared.has(scope), 'is not a scope of any product');
}

function refuseScopes(scopes: readonly string[], isRefused: (scope: string) => boolean, problem: string): void {
  const problems = [...scopes.entries()].flatMap(([at, scope]) =>
    isRefused(scope) ? [{ field: `scopes[${at}]`, problem: `${JSON.stringify(scope)} ${problem}` }] : [],
  );
  if (problems.length > 0) throw refuseFields(problems);
}
