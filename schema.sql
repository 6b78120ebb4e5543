-- The data model of Sallyport on one page. The first start creates it; every later start checks `user_version`.
-- Times are integer milliseconds since 1970 (UTC), and their names end in `_at`. Booleans are 0 or 1. JSON is text.
-- A secret that the service uses is a BLOB, encrypted with the master key (AES-256-GCM). A secret that is only compared is a
-- `*_hash` (SHA-256).
PRAGMA user_version = 4;

-- Facts about this database, for example a sealed word that shows whether a master key is the right one.
CREATE TABLE setting (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- A customer of the operator. Users, applications, endpoints, keys and webhooks belong to one. The row with the empty id is the
-- operator itself: its own resources have `customer_id` '' here and `customerId` null in the API.
CREATE TABLE customer (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL,
  external_id TEXT UNIQUE,  -- the operator's own id of it
  metadata    TEXT NOT NULL CHECK (json_valid(metadata)),
  active      INTEGER NOT NULL CHECK (active IN (0, 1)),
  max_endpoints         INTEGER CHECK (max_endpoints >= 0),          -- null: 50
  max_webhooks          INTEGER CHECK (max_webhooks >= 0),           -- null: 100
  max_events_per_second INTEGER CHECK (max_events_per_second > 0),
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT;
INSERT INTO customer (id, name, external_id, metadata, active, created_at, updated_at) VALUES ('', '', NULL, '{}', 1, 0, 0);

-- A link that opens a customer's portal once. Only its hash is stored.
CREATE TABLE portal_link (
  id              TEXT PRIMARY KEY,
  customer_id     TEXT NOT NULL REFERENCES customer (id) ON DELETE CASCADE,
  token_hash      BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  role            TEXT NOT NULL CHECK (role IN ('administrator', 'viewer')),
  session_seconds INTEGER NOT NULL,
  return_url      TEXT,
  renew_url       TEXT,
  created_at      INTEGER NOT NULL,
  expires_at      INTEGER NOT NULL,
  used_at         INTEGER
) STRICT;
CREATE INDEX portal_link_customer ON portal_link (customer_id);
CREATE INDEX portal_link_expiry ON portal_link (expires_at);

-- A portal account. Tokens of an application act as its account, with the account's permissions and constraints.
CREATE TABLE user_account (
  id            TEXT PRIMARY KEY,
  customer_id   TEXT NOT NULL DEFAULT '' REFERENCES customer (id),
  user_name     TEXT NOT NULL,
  user_name_key TEXT NOT NULL,                                  -- the name after NFKC and case folding, for searching
  display_name  TEXT,
  email         TEXT,
  active        INTEGER NOT NULL CHECK (active IN (0, 1)),
  role          TEXT NOT NULL CHECK (role IN ('administrator', 'operator', 'viewer', 'service')),
  permissions   TEXT NOT NULL CHECK (json_valid(permissions)),  -- ["employees:view", …]
  constraints   TEXT NOT NULL CHECK (json_valid(constraints)),  -- {"divisions": ["sales"]}; {}: no limits
  password_hash TEXT,                                           -- scrypt with its parameters; null: cannot sign in to the portal
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  UNIQUE (customer_id, user_name_key),
  UNIQUE (customer_id, id)
) STRICT;

-- A one-time link with which a user sets a password. A new link replaces the user's earlier one.
CREATE TABLE invitation (
  user_id    TEXT PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
  token_hash BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER
) STRICT;

-- A portal session. The cookie holds the token. The session ends at `expires_at` or after half an hour without a request. `role` is the
-- account's role at sign-in: if it changes, the account must sign in again.
CREATE TABLE session (
  id         TEXT PRIMARY KEY,
  user_id    TEXT REFERENCES user_account (id) ON DELETE CASCADE,  -- null: it began with a portal link, or is a portal token
  customer_id TEXT NOT NULL DEFAULT '' REFERENCES customer (id) ON DELETE CASCADE,
  token_hash BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  role       TEXT NOT NULL CHECK (role IN ('administrator', 'operator', 'viewer')),
  method     TEXT NOT NULL CHECK (method IN ('password', 'passkey', 'link', 'token')),
  address    TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  return_url TEXT,  -- where the operator's product goes on, if a portal link named it
  created_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  CHECK ((user_id IS NULL) = (method IN ('link', 'token')))
) STRICT;
CREATE INDEX session_user ON session (user_id);
CREATE INDEX session_expiry ON session (expires_at);
CREATE INDEX session_customer ON session (customer_id);

-- A passkey (WebAuthn): the public key of a key pair that a device keeps for one host name.
CREATE TABLE passkey (
  id            TEXT PRIMARY KEY,
  user_id       TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  credential_id BLOB NOT NULL UNIQUE,
  public_key    BLOB NOT NULL,     -- COSE
  host          TEXT NOT NULL,     -- the relying party's id; the key signs for no other
  name          TEXT NOT NULL,
  counter       INTEGER NOT NULL,  -- of signatures, if the device counts them; a lower value reveals a copied key
  created_at    INTEGER NOT NULL,
  used_at       INTEGER
) STRICT;
CREATE INDEX passkey_user ON passkey (user_id);

-- An API product: scopes, and rules that say which scope a path and method require. Every start rewrites the built-in products.
CREATE TABLE product (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  built_in   INTEGER NOT NULL CHECK (built_in IN (0, 1)),
  scopes     TEXT NOT NULL CHECK (json_valid(scopes)),
  rules      TEXT NOT NULL CHECK (json_valid(rules)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX product_updated ON product (updated_at, id);

-- A customer's program that may request tokens. A replaced secret stays valid until it expires.
CREATE TABLE application (
  id                            TEXT PRIMARY KEY,
  customer_id                   TEXT NOT NULL DEFAULT '' REFERENCES customer (id),
  name                          TEXT NOT NULL,
  user_id                       TEXT NOT NULL,
  client_id                     TEXT NOT NULL UNIQUE,
  secret_hash                   BLOB NOT NULL CHECK (length(secret_hash) = 32),
  secret_created_at             INTEGER NOT NULL,
  previous_secret_hash          BLOB CHECK (length(previous_secret_hash) = 32),
  previous_secret_expires_at    INTEGER,
  access_token_validity_seconds INTEGER NOT NULL CHECK (access_token_validity_seconds BETWEEN 300 AND 86400),
  scopes                        TEXT NOT NULL CHECK (json_valid(scopes)),
  active                        INTEGER NOT NULL CHECK (active IN (0, 1)),
  tokens_revoked_through        INTEGER NOT NULL,  -- tokens with a row key up to this one are revoked
  created_at                    INTEGER NOT NULL,
  updated_at                    INTEGER NOT NULL,
  CHECK ((previous_secret_hash IS NULL) = (previous_secret_expires_at IS NULL)),
  FOREIGN KEY (customer_id, user_id) REFERENCES user_account (customer_id, id)
) STRICT;
CREATE INDEX application_user ON application (user_id);
CREATE INDEX application_customer ON application (customer_id, id);

-- When an application last received or used a token. Collected in memory and written once a minute. It is a separate table because an
-- update of `application` increases `access_version`, which clears the caches.
CREATE TABLE application_use (
  application_id TEXT PRIMARY KEY REFERENCES application (id) ON DELETE CASCADE,
  last_used_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An access token. Keys are ordered by time, so issuing appends and purging deletes a range. There is no foreign key: the gate's join
-- refuses a token without an application, and the purge deletes it when it expires.
CREATE TABLE access_token (
  key            INTEGER PRIMARY KEY,
  hash           BLOB NOT NULL,
  application_id TEXT NOT NULL,
  scope          TEXT NOT NULL,  -- granted scopes, sorted, space-delimited
  expires_at     INTEGER NOT NULL
) STRICT;

-- A counter of changes to tokens, applications and users and of ended sessions, by any program. Cached grants and sessions are valid while
-- it stays the same. New tokens and sessions change no existing ones, so they do not count.
CREATE TABLE access_version (
  value INTEGER NOT NULL
) STRICT;
INSERT INTO access_version (value) VALUES (0);
CREATE TRIGGER application_update AFTER UPDATE ON application BEGIN UPDATE access_version SET value = value + 1; END;
CREATE TRIGGER application_delete AFTER DELETE ON application BEGIN UPDATE access_version SET value = value + 1; END;
CREATE TRIGGER user_account_update AFTER UPDATE ON user_account BEGIN UPDATE access_version SET value = value + 1; END;
CREATE TRIGGER user_account_delete AFTER DELETE ON user_account BEGIN UPDATE access_version SET value = value + 1; END;
CREATE TRIGGER access_token_update AFTER UPDATE ON access_token BEGIN UPDATE access_version SET value = value + 1; END;
CREATE TRIGGER access_token_delete AFTER DELETE ON access_token BEGIN UPDATE access_version SET value = value + 1; END;
CREATE TRIGGER customer_update AFTER UPDATE ON customer BEGIN UPDATE access_version SET value = value + 1; END;
CREATE TRIGGER session_delete AFTER DELETE ON session BEGIN UPDATE access_version SET value = value + 1; END;

-- The built-in example of a guarded API that publishes events.
CREATE TABLE employee (
  user_id     TEXT PRIMARY KEY,
  external_id TEXT UNIQUE,
  user_name   TEXT NOT NULL UNIQUE,
  first_name  TEXT NOT NULL,
  last_name   TEXT NOT NULL,
  email       TEXT NOT NULL,
  division    TEXT NOT NULL,
  manager_id  TEXT REFERENCES employee (user_id),
  hire_date   TEXT,
  active      INTEGER NOT NULL CHECK (active IN (0, 1)),
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX employee_division ON employee (division, user_id);

-- A customer's HTTPS address, and how requests to it are secured.
CREATE TABLE endpoint (
  id                             TEXT PRIMARY KEY,
  customer_id                    TEXT NOT NULL DEFAULT '' REFERENCES customer (id),
  name                           TEXT NOT NULL,
  url                            TEXT NOT NULL,
  api_key                        BLOB NOT NULL,
  secret                         BLOB NOT NULL,
  secret_created_at              INTEGER NOT NULL,
  next_secret                    BLOB,     -- signs from next_secret_at
  next_secret_created_at         INTEGER,
  next_secret_at                 INTEGER,
  signature_type                 TEXT NOT NULL DEFAULT 'hmac' CHECK (signature_type IN ('hmac', 'ed25519')),
  signing_key                    BLOB,     -- the private key of ed25519
  public_key                     TEXT,
  next_signing_key               BLOB,     -- signs from next_secret_at
  next_public_key                TEXT,
  secret_overlap_ends_at         INTEGER,  -- until then Standard Webhooks requests are signed with both secrets
  next_api_key                   BLOB,     -- sent from next_api_key_at
  next_api_key_at                INTEGER,
  send_api_key                   INTEGER NOT NULL DEFAULT 1 CHECK (send_api_key IN (0, 1)),
  authentication                 BLOB,
  next_authentication            BLOB,     -- sent from next_authentication_at
  next_authentication_at         INTEGER,
  request_headers                BLOB,
  content_encoding               TEXT CHECK (content_encoding = 'gzip'),
  token_challenge                INTEGER NOT NULL CHECK (token_challenge IN (0, 1)),
  verification                   TEXT CHECK (verification = 'cloudevents'),
  allowed_requests_per_minute    INTEGER CHECK (allowed_requests_per_minute > 0),  -- by the receiver's answer to the handshake
  verified                       INTEGER NOT NULL CHECK (verified IN (0, 1)),
  enabled                        INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  enable_when_verified           INTEGER NOT NULL CHECK (enable_when_verified IN (0, 1)),
  oauth_client_id                TEXT,
  oauth_client_secret            BLOB,
  oauth_token_url                TEXT,
  oauth_token_expiration_minutes INTEGER,
  oauth_scopes                   TEXT,
  client_certificate             TEXT,
  client_private_key             BLOB,
  client_certificate_expires_at  INTEGER,
  client_certificate_warned_days INTEGER,  -- days of the last expiry warning: 30, 7 or 1
  last_verification              TEXT CHECK (last_verification IS NULL OR json_valid(last_verification)),
  created_at                     INTEGER NOT NULL,
  updated_at                     INTEGER NOT NULL,
  CHECK ((token_challenge = 0 AND verification IS NULL) OR verified = 1 OR enabled = 0),
  CHECK (token_challenge = 0 OR verification IS NULL),
  CHECK ((next_secret IS NULL) = (next_secret_at IS NULL) AND (next_secret IS NULL) = (secret_overlap_ends_at IS NULL)),
  CHECK ((next_secret IS NULL) = (next_secret_created_at IS NULL)),
  CHECK ((signature_type = 'ed25519') = (signing_key IS NOT NULL) AND (signing_key IS NULL) = (public_key IS NULL)),
  CHECK ((next_signing_key IS NULL) = (next_public_key IS NULL) AND (next_signing_key IS NULL OR next_secret IS NOT NULL)),
  CHECK ((next_api_key IS NULL) = (next_api_key_at IS NULL)),
  CHECK ((next_authentication IS NULL) = (next_authentication_at IS NULL)),
  CHECK (next_authentication IS NULL OR authentication IS NOT NULL),
  CHECK (authentication IS NULL OR oauth_client_id IS NULL),
  CHECK ((oauth_client_id IS NULL) = (oauth_client_secret IS NULL) AND (oauth_client_id IS NULL) = (oauth_token_url IS NULL)),
  CHECK ((client_certificate IS NULL) = (client_private_key IS NULL)),
  UNIQUE (customer_id, id)
) STRICT;

-- A customer's PGP public key. Payloads are encrypted for it.
CREATE TABLE pgp_key (
  id          TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL DEFAULT '' REFERENCES customer (id),
  name        TEXT NOT NULL,
  public_key  TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  algorithm   TEXT NOT NULL,
  expires_at  INTEGER,
  warned_days INTEGER,  -- days of the last expiry warning: 30, 7 or 1
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  UNIQUE (customer_id, name)
) STRICT;

-- An event type that may be published. Every start rewrites the built-in types.
CREATE TABLE event_type (
  id                  TEXT PRIMARY KEY,
  name                TEXT NOT NULL UNIQUE,
  description         TEXT NOT NULL,
  encryption_required INTEGER NOT NULL CHECK (encryption_required IN (0, 1)),
  built_in            INTEGER NOT NULL CHECK (built_in IN (0, 1)),
  data_schema         TEXT CHECK (data_schema IS NULL OR json_valid(data_schema)),  -- JSON Schema of the event's data
  sample              TEXT CHECK (sample IS NULL OR json_valid(sample)),            -- data of an example
  group_name          TEXT,                                                         -- where the event catalogue lists it
  source              TEXT,                                                         -- the `source` of its CloudEvents; null: the address of the service
  deprecated          INTEGER NOT NULL CHECK (deprecated IN (0, 1)),
  public              INTEGER NOT NULL CHECK (public IN (0, 1)),                    -- whether everybody sees it in the event catalogue
  search_paths        TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(search_paths)),  -- find its events by the values there
  created_at          INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL
) STRICT;

-- A webhook: which events go to which endpoint, and how. Nothing is sent for one in mode `pull`: its reader fetches the records and
-- acknowledges them. The log tables have its `number`.
CREATE TABLE webhook (
  number                 INTEGER PRIMARY KEY AUTOINCREMENT CHECK (number < 67108864),
  id                     TEXT NOT NULL UNIQUE,
  customer_id            TEXT NOT NULL DEFAULT '' REFERENCES customer (id),
  name                   TEXT NOT NULL,
  mode                   TEXT NOT NULL DEFAULT 'push' CHECK (mode IN ('push', 'pull')),
  endpoint_id            TEXT,
  format                 TEXT NOT NULL DEFAULT 'records' CHECK (format IN ('records', 'standard', 'cloudevents', 'cloudevents-binary')),
  batch                  INTEGER NOT NULL DEFAULT 0 CHECK (batch IN (0, 1)),
  thin                   INTEGER NOT NULL DEFAULT 0 CHECK (thin IN (0, 1)),
  event_types            TEXT NOT NULL CHECK (json_valid(event_types)),
  filter                 TEXT CHECK (filter IS NULL OR json_valid(filter)),  -- which events of these types it gets
  custom_headers         TEXT NOT NULL CHECK (json_valid(custom_headers)),
  encryption_key_name    TEXT,
  ordered                TEXT NOT NULL CHECK (ordered IN ('none', 'webhook', 'key')),
  max_batch_records      INTEGER NOT NULL CHECK (max_batch_records BETWEEN 1 AND 1000),
  max_records_per_second REAL,
  retry_policy           TEXT NOT NULL CHECK (retry_policy IN ('exponential', 'linear', 'schedule')),
  max_attempts           INTEGER NOT NULL,
  retry_delays_seconds   TEXT CHECK (retry_delays_seconds IS NULL OR json_valid(retry_delays_seconds)),  -- the waits of the policy `schedule`
  standard_webhooks      INTEGER NOT NULL CHECK (standard_webhooks IN (0, 1)),
  signature              TEXT CHECK (signature IS NULL OR json_valid(signature)),
  heartbeat_seconds      INTEGER NOT NULL,
  timeout_seconds        INTEGER NOT NULL CHECK (timeout_seconds BETWEEN 1 AND 60),
  created_at             INTEGER NOT NULL,
  updated_at             INTEGER NOT NULL,
  FOREIGN KEY (customer_id, endpoint_id) REFERENCES endpoint (customer_id, id),
  FOREIGN KEY (customer_id, encryption_key_name) REFERENCES pgp_key (customer_id, name) ON UPDATE CASCADE,
  CHECK (batch = 0 OR format = 'cloudevents'),
  CHECK (thin = 0 OR format <> 'records'),
  CHECK ((retry_policy = 'schedule') = (retry_delays_seconds IS NOT NULL)),
  CHECK ((mode = 'pull') = (endpoint_id IS NULL))
) STRICT;
CREATE INDEX webhook_endpoint ON webhook (endpoint_id);
CREATE INDEX webhook_encryption_key ON webhook (customer_id, encryption_key_name);
CREATE INDEX webhook_customer ON webhook (customer_id, number);

-- The number of a deleted webhook. Housekeeping deletes its log in small steps.
CREATE TABLE removed_webhook (number INTEGER PRIMARY KEY) STRICT;

-- The state of a webhook and its session. A row changes when the state or the health changes, never with an event: publishers on PostgreSQL
-- lock it, and versions of a row that an old snapshot keeps would make every look at it slow.
CREATE TABLE webhook_progress (
  webhook_number     INTEGER PRIMARY KEY REFERENCES webhook (number) ON DELETE CASCADE,
  pulled             INTEGER NOT NULL DEFAULT 0 CHECK (pulled IN (0, 1)),  -- whether the webhook's mode is `pull`
  state              TEXT NOT NULL CHECK (state IN ('stopped', 'started', 'running', 'failing', 'failed')),
  state_reason       TEXT,  -- a code from a fixed list
  state_detail       TEXT,  -- the receiver's answer, if the code does not tell it
  state_at           INTEGER NOT NULL,
  session_id         TEXT,
  session_at         INTEGER,
  base_offset        INTEGER NOT NULL DEFAULT 0,  -- the next record gets at least this offset, also after retention deleted all records
  failing_since_at   INTEGER,
  failure_streak     INTEGER NOT NULL,  -- consecutive failed attempts caused by the endpoint, not by the content
  probe_at           INTEGER,           -- while failing: no attempt before this time
  dead_streak        INTEGER NOT NULL,  -- consecutive batches that used up their attempts
  resume_at          INTEGER            -- since then waiting retries are being made due, after a start or a new address
) STRICT;

-- How far a webhook has come. The process that sends for it knows this exactly and writes it every few seconds: every record below
-- `covered_offset` is in a batch. In mode `pull` an acknowledgement moves `covered_offset`.
CREATE TABLE webhook_position (
  webhook_number  INTEGER PRIMARY KEY REFERENCES webhook_progress (webhook_number) ON DELETE CASCADE,
  covered_offset  INTEGER NOT NULL DEFAULT 0,
  pending_records INTEGER NOT NULL DEFAULT 0,  -- records in pending batches, so that the queue's depth needs no count
  sent_at         INTEGER                      -- the last attempt, heartbeats included
) STRICT;

-- Webhooks that the process which sends for them must look at: settings, state or retries were changed. That process deletes the rows.
CREATE TABLE webhook_change (
  number         INTEGER PRIMARY KEY AUTOINCREMENT,
  webhook_number INTEGER NOT NULL
) STRICT;

-- The progress of webhooks with what the log tells: `next_offset` is the offset of the next record, and `waiting_records` are in no batch.
CREATE VIEW webhook_status AS
SELECT p.*, q.covered_offset AS cursor_offset, q.pending_records, q.sent_at, 0 AS base_key,
  max(p.base_offset,
    coalesce((SELECT max(o.record_offset) FROM outbox AS o WHERE o.webhook_number = p.webhook_number), -1) + 1) AS next_offset,
  max(p.base_offset,
    coalesce((SELECT max(o.record_offset) FROM outbox AS o WHERE o.webhook_number = p.webhook_number), -1) + 1) - q.covered_offset
    - coalesce((
      SELECT sum(b.last_offset - b.first_offset + 1) FROM batch AS b
      WHERE b.webhook_number = p.webhook_number AND b.first_offset >= q.covered_offset), 0) AS waiting_records
FROM webhook_progress AS p JOIN webhook_position AS q ON q.webhook_number = p.webhook_number;

-- The subscriptions of webhooks: an event type, a category with `.*`, or `*`.
CREATE TABLE subscription (
  pattern        TEXT NOT NULL,
  customer_id    TEXT NOT NULL,  -- of the webhook
  webhook_number INTEGER NOT NULL REFERENCES webhook (number) ON DELETE CASCADE,
  filtered       INTEGER NOT NULL CHECK (filtered IN (0, 1)),  -- whether the webhook has a filter
  PRIMARY KEY (pattern, customer_id, webhook_number)
) STRICT, WITHOUT ROWID;
CREATE INDEX subscription_webhook ON subscription (webhook_number);
CREATE INDEX subscription_filtered ON subscription (pattern, customer_id, webhook_number) WHERE filtered;

-- An event. `key` has the first 53 bits of the time and counter in `id`, so that events are stored in order.
CREATE TABLE event (
  key            INTEGER PRIMARY KEY,
  id             TEXT NOT NULL,
  type           TEXT NOT NULL,
  data           TEXT,           -- the JSON text that is sent; null once erased
  subject        TEXT,           -- the person that the event is about
  audience       TEXT NOT NULL DEFAULT '',  -- who gets it besides the operator: a customer's id, '*' for every customer, or '' for nobody
  correlation_id TEXT NOT NULL,
  actor_id       TEXT,
  created_at     INTEGER NOT NULL,
  erased_at      INTEGER,
  content_hash   BLOB CHECK (length(content_hash) = 32),  -- if it has an idempotency key; null once erased
  ordering_key   TEXT,           -- events of one key stay in order (webhook.ordered); null once erased
  CHECK (erased_at IS NULL OR content_hash IS NULL),
  CHECK ((data IS NULL) = (erased_at IS NOT NULL))
) STRICT;
CREATE INDEX event_subject ON event (subject) WHERE subject IS NOT NULL;
CREATE INDEX event_erased ON event (erased_at) WHERE erased_at IS NOT NULL;
-- The latest events that a customer could get. Events that only the operator gets do not pay for it.
CREATE INDEX event_of_audience ON event (audience, key) WHERE audience <> '';
-- Lists by type and lists of discarded records, newest first: every index ends in the key. The first one takes 5 % of a publish.
CREATE INDEX event_of_type ON event (type);
CREATE INDEX event_erased_key ON event (key) WHERE erased_at IS NOT NULL;
-- Events of one ordering key, newest first. Events without one do not pay for it.
CREATE INDEX event_of_key ON event (ordering_key) WHERE ordering_key IS NOT NULL;
-- The same of one audience, so that a customer's search does not read what others have. Events that only the operator gets do not pay for it.
CREATE INDEX event_of_audience_key ON event (audience, ordering_key) WHERE ordering_key IS NOT NULL AND audience <> '';
-- Events about a webhook's changes of state. They are few, and other events do not pay for this index.
CREATE INDEX event_of_webhook ON event (data ->> 'webhookId', key) WHERE type GLOB 'webhook.*';

-- A requested erasure of one person's events. Until it is finished, events of the subject up to `through_key` are not sent, whether they
-- are overwritten yet or not.
CREATE TABLE erasure (
  id                   TEXT PRIMARY KEY,
  subject              TEXT NOT NULL,
  actor                TEXT NOT NULL,
  through_key          INTEGER NOT NULL,  -- the last event of the erasure; -1: there is none
  after_key            INTEGER NOT NULL,  -- events up to this one are overwritten
  events               INTEGER NOT NULL DEFAULT 0,
  deliveries_discarded INTEGER NOT NULL DEFAULT 0,
  attempts             INTEGER NOT NULL DEFAULT 0,
  started_at           INTEGER NOT NULL,
  finished_at          INTEGER
) STRICT;
CREATE INDEX erasure_open ON erasure (subject, through_key) WHERE finished_at IS NULL;
CREATE INDEX erasure_finished ON erasure (finished_at) WHERE finished_at IS NOT NULL;

-- What people find events by: the values at the `search_paths` of their type, kept shortly after publishing. `term` is a keyed hash of the
-- value, so that the table tells nothing of the data. Other events do not pay for it. An erasure deletes the rows of its events;
-- housekeeping deletes those of events that are gone, and of paths that the type no longer has.
CREATE TABLE event_term (
  term      TEXT NOT NULL,
  audience  TEXT NOT NULL,     -- of the event
  event_key INTEGER NOT NULL,
  path      TEXT NOT NULL,
  PRIMARY KEY (term, audience, event_key, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_term_newest ON event_term (term, event_key);
CREATE INDEX event_term_event ON event_term (event_key);

-- How far the events of a type were read for `event_term`, with which paths.
CREATE TABLE event_term_progress (
  type        TEXT PRIMARY KEY,
  paths       TEXT NOT NULL,
  through_key INTEGER NOT NULL  -- -1: none yet
) STRICT, WITHOUT ROWID;

-- A publisher's idempotency key and its event, kept for 24 hours. The hash of the content is stored with the event, so that an erasure
-- leaves no trace here.
CREATE TABLE idempotency (
  publisher  TEXT NOT NULL,  -- the application's id, or 'command-line'
  key        TEXT NOT NULL,
  event_id   TEXT NOT NULL,
  event_key  INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (publisher, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

-- The reply to a request with an Idempotency-Key that created a resource, kept for 24 hours and sent again if the request is repeated. It is
-- encrypted together with a hash of the request, because both may reveal a secret.
CREATE TABLE kept_reply (
  application_id TEXT NOT NULL,
  key            TEXT NOT NULL,
  reply          BLOB NOT NULL,
  expires_at     INTEGER NOT NULL,
  PRIMARY KEY (application_id, key)
) STRICT;
CREATE INDEX kept_reply_expiry ON kept_reply (expires_at);

-- The outbox: one row for each event and subscribed webhook, numbered without gaps per webhook. Only publishing adds rows, and only
-- housekeeping deletes them, oldest settled records first. The log tables have no foreign keys, because deleting a webhook would then
-- delete its whole log in one transaction.
CREATE TABLE outbox (
  webhook_number INTEGER NOT NULL,
  record_offset  INTEGER NOT NULL,
  event_key      INTEGER NOT NULL,
  data_bytes     INTEGER NOT NULL,  -- size of the data as published, for the size of batches
  PRIMARY KEY (webhook_number, record_offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_event ON outbox (event_key, webhook_number, record_offset);

-- Records that were sent together. Batches of a webhook do not overlap. The state of a record is that of its batch; a record without one
-- is pending. A batch is inserted with its outcome; only after a failure, a replay or a slow attempt it is first inserted as pending, and
-- changes later. While a slow attempt is in progress, `lease_owner` names the process, and `next_attempt_at` has already passed. A pending
-- batch without `next_attempt_at` waits for earlier records of its key.
CREATE TABLE batch (
  webhook_number   INTEGER NOT NULL,
  first_offset     INTEGER NOT NULL,
  last_offset      INTEGER NOT NULL,
  id               TEXT NOT NULL,
  state            TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'dead', 'discarded')),
  attempt_count    INTEGER NOT NULL,
  content_refusals INTEGER NOT NULL,  -- consecutive answers that refuse the content, and resets without an answer; the second one halves the batch
  next_attempt_at  INTEGER,
  lease_owner      TEXT,
  settled_at       INTEGER,
  updated_at       INTEGER,  -- the last claim, outcome or replay
  order_key        TEXT,     -- while it waits, with `ordered` `key`: the key of all its records, '' for none; null: not looked at
  PRIMARY KEY (webhook_number, first_offset),
  CHECK (first_offset <= last_offset),
  CHECK (state = 'pending' OR next_attempt_at IS NULL),
  CHECK ((state = 'pending') = (settled_at IS NULL)),
  CHECK (lease_owner IS NULL OR state = 'pending')
) STRICT, WITHOUT ROWID;
CREATE INDEX batch_due ON batch (webhook_number, next_attempt_at) WHERE state = 'pending';
CREATE INDEX batch_pending ON batch (webhook_number, first_offset) WHERE state = 'pending';
-- By the order of a key.
CREATE INDEX batch_order_key ON batch (webhook_number, order_key, first_offset) WHERE state = 'pending';
CREATE INDEX batch_leased ON batch (webhook_number, first_offset) WHERE lease_owner IS NOT NULL;
CREATE INDEX batch_dead ON batch (webhook_number, first_offset, last_offset) WHERE state = 'dead';

-- One request to a receiver and its outcome. Heartbeats and tests have no offsets.
CREATE TABLE attempt (
  key              INTEGER PRIMARY KEY,
  id               TEXT NOT NULL,
  webhook_number   INTEGER NOT NULL,
  kind             TEXT NOT NULL CHECK (kind IN ('delivery', 'heartbeat', 'test')),
  batch_id         TEXT,
  first_offset     INTEGER,
  last_offset      INTEGER,
  attempt_number   INTEGER NOT NULL,
  started_at       INTEGER NOT NULL,
  request_headers  TEXT NOT NULL,  -- secrets masked
  response_status  INTEGER,
  response_headers TEXT,
  response_body    BLOB,           -- the first 4 KiB
  error_class      TEXT,           -- null: delivered
  error_message    TEXT,
  response_problem TEXT,           -- how the response violates HTTP, or why its rest could not be read
  timings          TEXT NOT NULL,
  CHECK ((kind = 'delivery') = (first_offset IS NOT NULL)),
  CHECK ((first_offset IS NULL) = (last_offset IS NULL))
) STRICT;
CREATE INDEX attempt_record ON attempt (webhook_number, first_offset, last_offset);

-- Counts within `span_seconds` from `at`, for charts: of one webhook, or with number 0 of the whole service. Collected in memory and added
-- here twice a minute. Spans of a minute are kept for two hours, ten minutes for 25 hours, an hour for eight days.
CREATE TABLE figure (
  span_seconds    INTEGER NOT NULL CHECK (span_seconds IN (60, 600, 3600)),
  webhook_number  INTEGER NOT NULL,
  at              INTEGER NOT NULL,
  delivered       INTEGER NOT NULL,  -- records by the outcome of an attempt: delivered, to be retried, dead
  retried         INTEGER NOT NULL,
  dead            INTEGER NOT NULL,
  attempts        INTEGER NOT NULL,  -- requests that carried records
  failed_attempts INTEGER NOT NULL,
  latencies       TEXT NOT NULL CHECK (json_valid(latencies)),  -- durations: [bucket, requests, bucket, requests, …]
  tokens_issued   INTEGER NOT NULL,
  tokens_refused  INTEGER NOT NULL,
  calls_refused   INTEGER NOT NULL,  -- by the gate
  PRIMARY KEY (span_seconds, webhook_number, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX figure_at ON figure (span_seconds, at);

-- What a customer used on a day (UTC), or with the empty id the operator. Collected in memory and added here twice a minute, kept for 400
-- days. There is no foreign key: the usage of a deleted customer may not be billed yet.
CREATE TABLE customer_usage (
  customer_id TEXT NOT NULL,
  day         TEXT NOT NULL,     -- 2026-11-21
  events      INTEGER NOT NULL,  -- published for it
  deliveries  INTEGER NOT NULL,  -- records that its webhooks delivered
  attempts    INTEGER NOT NULL,  -- requests of its webhooks that carried records
  failures    INTEGER NOT NULL,  -- those of them that failed
  bytes       INTEGER NOT NULL,  -- of the bodies of answered ones
  tokens      INTEGER NOT NULL,  -- issued to its applications
  PRIMARY KEY (customer_id, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX customer_usage_day ON customer_usage (day);

-- Administrative changes. Each entry has the hash of the previous entry, which reveals removed and altered entries.
CREATE TABLE audit (
  number        INTEGER PRIMARY KEY,
  id            TEXT NOT NULL,
  at            INTEGER NOT NULL,
  actor         TEXT NOT NULL,
  action        TEXT NOT NULL,
  target        TEXT NOT NULL,
  customer_id   TEXT NOT NULL DEFAULT '',  -- whose audit log shows it, besides the operator's
  changes       TEXT NOT NULL CHECK (json_valid(changes)),  -- secrets masked
  previous_hash TEXT NOT NULL,
  hash          TEXT NOT NULL
) STRICT;
CREATE INDEX audit_id ON audit (id);
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_actor ON audit (actor, number);
CREATE INDEX audit_target ON audit (target, number);
CREATE INDEX audit_customer ON audit (customer_id, number) WHERE customer_id <> '';
-- Sign-ins and changes apart, since either may be rare among the other: of all, and of a customer.
CREATE INDEX audit_kind ON audit ((
  CASE WHEN action IN ('user.sign-in', 'user.sign-out', 'user.sign-out-everywhere',
    'customer.create-link', 'customer.open-link', 'customer.create-token') THEN 'sign-ins' ELSE 'changes' END
), number);
CREATE INDEX audit_customer_kind ON audit (customer_id, (
  CASE WHEN action IN ('user.sign-in', 'user.sign-out', 'user.sign-out-everywhere',
    'customer.create-link', 'customer.open-link', 'customer.create-token') THEN 'sign-ins' ELSE 'changes' END
), number) WHERE customer_id <> '';
