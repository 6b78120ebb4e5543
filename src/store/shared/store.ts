/** The store: one record of verbs per subject, each verb one transaction. Both databases run these; PostgreSQL replaces some. */

import { createThrottle } from '../../domain/throttle.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Database } from '../port/database.ts';
import type { Store } from '../port/store.ts';
import { createMemoryAllowances } from '../sqlite/allowances.ts';
import { applicationStore, applicationTable } from './access/applications.ts';
import { keptReplyStore } from './access/kept-replies.ts';
import { passkeyStore } from './access/passkeys.ts';
import { productStore } from './access/products.ts';
import { sessionStore } from './access/sessions.ts';
import { type AccessVersion, applicationUseStore, tokenStore, watchAccess } from './access/tokens.ts';
import { invitationStore, userStore } from './access/users.ts';
import { auditStore } from './audit.ts';
import { clockLeadStore } from './clock-lead.ts';
import { customerStore, portalLinkStore } from './customers.ts';
import { attemptStore } from './delivery/attempts.ts';
import { deliveryStore } from './delivery/deliveries.ts';
import { dispatchStore } from './delivery/dispatch.ts';
import { pullStore } from './delivery/pull.ts';
import { queueStore } from './delivery/queues.ts';
import { replayStore } from './delivery/replays.ts';
import { settlementStore } from './delivery/settlement.ts';
import { directoryStore, registryStore, useStore } from './directory.ts';
import { employeeStore } from './employees.ts';
import { erasureStore } from './erasure.ts';
import { eventStore, eventTypeStore } from './events.ts';
import { expiryStore } from './expiry.ts';
import { figureStore } from './figures.ts';
import { overviewStore } from './overview.ts';
import { removalStore, retentionStore } from './retention.ts';
import { searchStore } from './search.ts';
import { settingStore } from './settings.ts';
import { createMemoryValues } from './short-lived.ts';
import { usageStore } from './usage.ts';
import { endpointStore } from './webhooks/endpoints.ts';
import { keyStore } from './webhooks/keys.ts';
import { stateHistoryStore, webhookStore } from './webhooks/webhooks.ts';

export function createStore(db: Database, vault: Vault, ids: Ids, access: AccessVersion = watchAccess(db)): Store {
  const applicationUses = applicationUseStore(db);
  const application = applicationTable(applicationUses);
  return {
    customerId: null,
    confirm: db.confirm,
    customers: customerStore(db, ids),
    portalLinks: portalLinkStore(db),
    usage: usageStore(db),
    allowances: createMemoryAllowances(),
    users: userStore(db, ids),
    invitations: invitationStore(db),
    products: productStore(db),
    applications: applicationStore(db, application, applicationUses),
    applicationUses,
    tokens: tokenStore(db, access),
    shortLived: { values: (_, remembered) => createMemoryValues(remembered) },
    failures: { throttle: (_, remembered) => createThrottle(remembered) },
    employees: employeeStore(db),
    endpoints: endpointStore(db, vault),
    keys: keyStore(db),
    keptReplies: keptReplyStore(db, vault),
    eventTypes: eventTypeStore(db),
    webhooks: webhookStore(db),
    events: eventStore(db),
    dispatch: dispatchStore(db, vault),
    settlements: settlementStore(db),
    pulls: pullStore(db),
    deliveries: deliveryStore(db),
    replays: replayStore(db),
    attempts: attemptStore(db),
    audit: auditStore(db),
    settings: settingStore(db, vault),
    sessions: sessionStore(db, access),
    passkeys: passkeyStore(db),
    registry: registryStore(db, application),
    retention: retentionStore(db),
    removals: removalStore(db),
    erasures: erasureStore(db),
    expiry: expiryStore(db),
    queues: queueStore(db),
    figures: figureStore(db),
    overview: overviewStore(db),
    directory: directoryStore(db, vault),
    uses: useStore(db),
    search: searchStore(db),
    stateHistory: stateHistoryStore(db),
    clockLead: clockLeadStore(db),
    instances: null,
  };
}
