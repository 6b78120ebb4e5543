/** The verbs that both databases do in the same way. */

import type { Ids } from '../../kernel/ids.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Database } from '../port/database.ts';
import type { Store } from '../port/store.ts';
import { applicationStore, applicationTable } from './access/applications.ts';
import { keptReplyStore } from './access/kept-replies.ts';
import { passkeyStore } from './access/passkeys.ts';
import { productStore } from './access/products.ts';
import { sessionStore } from './access/sessions.ts';
import { type AccessVersion, applicationUseStore } from './access/tokens.ts';
import { invitationStore, userStore } from './access/users.ts';
import { auditStore } from './audit.ts';
import { clockLeadStore } from './clock-lead.ts';
import { customerStore, portalLinkStore } from './customers.ts';
import { attemptStore } from './delivery/attempts.ts';
import { deliveryStore } from './delivery/deliveries.ts';
import { pullStore } from './delivery/pull.ts';
import { queueStore } from './delivery/queues.ts';
import { replayStore } from './delivery/replays.ts';
import type { LockLog } from './delivery/stretches.ts';
import { waitingKeyStore } from './delivery/waiting-keys.ts';
import { directoryStore, registryStore, useStore } from './directory.ts';
import { expiryStore } from './expiry.ts';
import { figureStore } from './figures.ts';
import { overviewStore } from './overview.ts';
import { searchStore } from './search.ts';
import { settingStore } from './settings.ts';
import { termStore } from './terms.ts';
import { usageStore } from './usage.ts';
import { endpointStore } from './webhooks/endpoints.ts';
import { keyStore } from './webhooks/keys.ts';
import { webhookStore } from './webhooks/webhooks.ts';

/** The parts of the store that each database makes for itself, wholly or with some verbs of its own. */
type OwnParts =
  | 'allowances'
  | 'dispatch'
  | 'employees'
  | 'erasures'
  | 'events'
  | 'eventTypes'
  | 'failures'
  | 'instances'
  | 'removals'
  | 'retention'
  | 'settlements'
  | 'shortLived'
  | 'stateHistory'
  | 'tokens';

export function createSharedStore(
  db: Database,
  vault: Vault,
  ids: Ids,
  access: AccessVersion,
  lockLog: LockLog,
): Omit<Store, OwnParts> {
  const terms = termStore(db, vault);
  const applicationUses = applicationUseStore(db);
  const application = applicationTable(applicationUses);
  return {
    customerId: null,
    confirm: db.confirm,
    customers: customerStore(db, ids),
    portalLinks: portalLinkStore(db),
    usage: usageStore(db),
    users: userStore(db, ids),
    invitations: invitationStore(db),
    products: productStore(db),
    applications: applicationStore(db, application, applicationUses),
    applicationUses,
    endpoints: endpointStore(db, vault),
    keys: keyStore(db),
    keptReplies: keptReplyStore(db, vault),
    webhooks: webhookStore(db),
    pulls: pullStore(db),
    terms: terms.verbs,
    deliveries: deliveryStore(db, terms),
    replays: replayStore(db, lockLog),
    waitingKeys: waitingKeyStore(db, lockLog),
    attempts: attemptStore(db),
    audit: auditStore(db),
    settings: settingStore(db, vault),
    sessions: sessionStore(db, access),
    passkeys: passkeyStore(db),
    registry: registryStore(db, application),
    expiry: expiryStore(db),
    queues: queueStore(db),
    figures: figureStore(db),
    overview: overviewStore(db),
    directory: directoryStore(db, vault),
    uses: useStore(db),
    search: searchStore(db),
    clockLead: clockLeadStore(db),
  };
}
