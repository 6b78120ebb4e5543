-- The data model on PostgreSQL 15 or newer, on one page. `sallyport init`, `sallyport migrate` and the first start create it in the first
-- schema of the role's search path. schema.sql describes the tables that both databases share; comments here tell what differs.
-- Times are integer milliseconds since 1970 (UTC), and their names end in `_at`. JSON is `json`, which keeps the text as written. Texts
-- have the collation "C", so that ids and cursors are ordered by their bytes, as in SQLite.

-- The changes of this schema, each with the oldest program that still works with it. Programs from `oldest_program` to `version` may
-- run side by side during an upgrade.
CREATE TABLE schema_change (
  version        integer PRIMARY KEY,
  oldest_program integer NOT NULL CHECK (oldest_program <= version),
  applied_at     bigint NOT NULL
);
INSERT INTO schema_change (version, oldest_program, applied_at)
VALUES (4, 2, floor(extract(epoch FROM clock_timestamp()) * 1000));

-- The SHA-256 of a text, which chains the entries of the audit log.
CREATE FUNCTION sha256_hex(content text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN encode(sha256(convert_to(content, 'UTF8')), 'hex');

-- Adds two lists [bucket, requests, bucket, requests, …] of a figure.
CREATE FUNCTION add_latencies(one json, other json) RETURNS json LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
  SELECT coalesce(json_agg(flat.number ORDER BY sums.bucket, flat.place), '[]')
  FROM (
    SELECT CAST(list ->> at AS bigint) AS bucket, CAST(sum(CAST(list ->> at + 1 AS bigint)) AS bigint) AS requests
    FROM (VALUES (one), (other)) AS lists (list), generate_series(0, json_array_length(list) - 2, 2) AS at
    GROUP BY 1
  ) AS sums, unnest(ARRAY[sums.bucket, sums.requests]) WITH ORDINALITY AS flat (number, place)
);

-- Facts about this database, for example a sealed word that shows whether a master key is the right one.
CREATE TABLE setting (
  name  text COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL
);

-- A customer of the operator. Users, applications, endpoints, keys and webhooks belong to one. The row with the empty id is the
-- operator itself: its own resources have `customer_id` '' here and `customerId` null in the API.
CREATE TABLE customer (
  id          text COLLATE "C" PRIMARY KEY,
  name        text COLLATE "C" NOT NULL,
  external_id text COLLATE "C" UNIQUE,  -- the operator's own id of it
  metadata    json NOT NULL,
  active      boolean NOT NULL,
  max_endpoints         bigint CHECK (max_endpoints >= 0),          -- null: 50
  max_webhooks          bigint CHECK (max_webhooks >= 0),           -- null: 100
  max_events_per_second bigint CHECK (max_events_per_second > 0),
  created_at  bigint NOT NULL,
  updated_at  bigint NOT NULL
);
INSERT INTO customer (id, name, external_id, metadata, active, created_at, updated_at) VALUES ('', '', NULL, '{}', true, 0, 0);

-- A link that opens a customer's portal once. Only its hash is stored.
CREATE TABLE portal_link (
  id              text COLLATE "C" PRIMARY KEY,
  customer_id     text COLLATE "C" NOT NULL REFERENCES customer (id) ON DELETE CASCADE,
  token_hash      bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  role            text COLLATE "C" NOT NULL CHECK (role IN ('administrator', 'viewer')),
  session_seconds bigint NOT NULL,
  return_url      text COLLATE "C",
  renew_url       text COLLATE "C",
  created_at      bigint NOT NULL,
  expires_at      bigint NOT NULL,
  used_at         bigint
);
CREATE INDEX portal_link_customer ON portal_link (customer_id);
CREATE INDEX portal_link_expiry ON portal_link (expires_at);

-- A portal account. Tokens of an application act as its account, with the account's permissions and constraints.
CREATE TABLE user_account (
  id            text COLLATE "C" PRIMARY KEY,
  customer_id   text COLLATE "C" NOT NULL DEFAULT '' REFERENCES customer (id),
  user_name     text COLLATE "C" NOT NULL,
  user_name_key text COLLATE "C" NOT NULL,                                  -- the name after NFKC and case folding, for searching
  display_name  text COLLATE "C",
  email         text COLLATE "C",
  active        boolean NOT NULL,
  role          text COLLATE "C" NOT NULL CHECK (role IN ('administrator', 'operator', 'viewer', 'service')),
  permissions   json NOT NULL,  -- ["employees:view", …]
  constraints   json NOT NULL,  -- {"divisions": ["sales"]}; {}: no limits
  password_hash text COLLATE "C",                                           -- scrypt with its parameters; null: cannot sign in to the portal
  created_at    bigint NOT NULL,
  updated_at    bigint NOT NULL,
  UNIQUE (customer_id, user_name_key),
  UNIQUE (customer_id, id)
);

-- A one-time link with which a user sets a password. A new link replaces the user's earlier one.
CREATE TABLE invitation (
  user_id    text COLLATE "C" PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
  token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  used_at    bigint
);

-- A portal session. The cookie holds the token. The session ends at `expires_at` or after half an hour without a request. `role` is the
-- account's role at sign-in: if it changes, the account must sign in again.
CREATE TABLE session (
  id         text COLLATE "C" PRIMARY KEY,
  user_id    text COLLATE "C" REFERENCES user_account (id) ON DELETE CASCADE,  -- null: it began with a portal link, or is a portal token
  customer_id text COLLATE "C" NOT NULL DEFAULT '' REFERENCES customer (id) ON DELETE CASCADE,
  token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  role       text COLLATE "C" NOT NULL CHECK (role IN ('administrator', 'operator', 'viewer')),
  method     text COLLATE "C" NOT NULL CHECK (method IN ('password', 'passkey', 'link', 'token')),
  address    text COLLATE "C" NOT NULL,
  user_agent text COLLATE "C" NOT NULL,
  return_url text COLLATE "C",  -- where the operator's product goes on, if a portal link named it
  created_at bigint NOT NULL,
  seen_at    bigint NOT NULL,
  expires_at bigint NOT NULL,
  CHECK ((user_id IS NULL) = (method IN ('link', 'token')))
);
CREATE INDEX session_of_user ON session (user_id);
CREATE INDEX session_expiry ON session (expires_at);
CREATE INDEX session_customer ON session (customer_id);

-- A passkey (WebAuthn): the public key of a key pair that a device keeps for one host name.
CREATE TABLE passkey (
  id            text COLLATE "C" PRIMARY KEY,
  user_id       text COLLATE "C" NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  credential_id bytea NOT NULL UNIQUE,
  public_key    bytea NOT NULL,     -- COSE
  host          text COLLATE "C" NOT NULL,     -- the relying party's id; the key signs for no other
  name          text COLLATE "C" NOT NULL,
  counter       bigint NOT NULL,  -- of signatures, if the device counts them; a lower value reveals a copied key
  created_at    bigint NOT NULL,
  used_at       bigint
);
CREATE INDEX passkey_user ON passkey (user_id);

-- An API product: scopes, and rules that say which scope a path and method require. Every start rewrites the built-in products.
CREATE TABLE product (
  id         text COLLATE "C" PRIMARY KEY,
  name       text COLLATE "C" NOT NULL UNIQUE,
  built_in   boolean NOT NULL,
  scopes     json NOT NULL,
  rules      json NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE INDEX product_updated ON product (updated_at, id);

-- A customer's program that may request tokens. A replaced secret stays valid until it expires.
CREATE TABLE application (
  id                            text COLLATE "C" PRIMARY KEY,
  customer_id                   text COLLATE "C" NOT NULL DEFAULT '' REFERENCES customer (id),
  name                          text COLLATE "C" NOT NULL,
  user_id                       text COLLATE "C" NOT NULL,
  client_id                     text COLLATE "C" NOT NULL UNIQUE,
  secret_hash                   bytea NOT NULL CHECK (length(secret_hash) = 32),
  secret_created_at             bigint NOT NULL,
  previous_secret_hash          bytea CHECK (length(previous_secret_hash) = 32),
  previous_secret_expires_at    bigint,
  access_token_validity_seconds bigint NOT NULL CHECK (access_token_validity_seconds BETWEEN 300 AND 86400),
  scopes                        json NOT NULL,
  active                        boolean NOT NULL,
  tokens_revoked_through        bigint NOT NULL,  -- tokens with a row key up to this one are revoked
  created_at                    bigint NOT NULL,
  updated_at                    bigint NOT NULL,
  CHECK ((previous_secret_hash IS NULL) = (previous_secret_expires_at IS NULL)),
  FOREIGN KEY (customer_id, user_id) REFERENCES user_account (customer_id, id)
);
CREATE INDEX application_user ON application (user_id);
CREATE INDEX application_customer ON application (customer_id, id);

-- When an application last received or used a token. Collected in memory and written once a minute. It is a separate table because an
-- update of `application` increases `access_version`, which clears the caches.
CREATE TABLE application_use (
  application_id text COLLATE "C" PRIMARY KEY REFERENCES application (id) ON DELETE CASCADE,
  last_used_at   bigint NOT NULL
);

-- An access token. Keys are ordered by time, so issuing appends and purging deletes a range. There is no foreign key: the gate's join
-- refuses a token without an application, and the purge deletes it when it expires.
CREATE TABLE access_token (
  key            bigint PRIMARY KEY,
  hash           bytea NOT NULL,
  application_id text COLLATE "C" NOT NULL,
  scope          text COLLATE "C" NOT NULL,  -- granted scopes, sorted, space-delimited
  expires_at     bigint NOT NULL
) PARTITION BY RANGE (key);

-- A counter of changes to tokens, applications, users and products and of ended sessions, by any program. Cached grants, sessions and the
-- compiled catalogue are valid while it stays the same. New tokens and sessions change no existing ones, so they do not count.
CREATE TABLE access_version (
  value bigint NOT NULL
);
INSERT INTO access_version (value) VALUES (0);
CREATE FUNCTION raise_access_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE access_version SET value = value + 1 WHERE EXISTS (SELECT FROM before);
  RETURN NULL;
END $$;
-- Once a statement, not once a row, and only if the statement found a row: all changes of one transaction wait for this row.
CREATE TRIGGER application_update AFTER UPDATE ON application
  REFERENCING OLD TABLE AS before EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER application_delete AFTER DELETE ON application
  REFERENCING OLD TABLE AS before EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER user_account_update AFTER UPDATE ON user_account
  REFERENCING OLD TABLE AS before EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER user_account_delete AFTER DELETE ON user_account
  REFERENCING OLD TABLE AS before EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER access_token_update AFTER UPDATE ON access_token
  REFERENCING OLD TABLE AS before EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER access_token_delete AFTER DELETE ON access_token
  REFERENCING OLD TABLE AS before EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER product_insert AFTER INSERT ON product
  REFERENCING NEW TABLE AS before EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER product_update AFTER UPDATE ON product
  REFERENCING OLD TABLE AS before EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER product_delete AFTER DELETE ON product
  REFERENCING OLD TABLE AS before EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER customer_update AFTER UPDATE ON customer
  REFERENCING OLD TABLE AS before EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER session_delete AFTER DELETE ON session
  REFERENCING OLD TABLE AS before EXECUTE FUNCTION raise_access_version();

-- The built-in example of a guarded API that publishes events.
CREATE TABLE employee (
  user_id     text COLLATE "C" PRIMARY KEY,
  external_id text COLLATE "C" UNIQUE,
  user_name   text COLLATE "C" NOT NULL UNIQUE,
  first_name  text COLLATE "C" NOT NULL,
  last_name   text COLLATE "C" NOT NULL,
  email       text COLLATE "C" NOT NULL,
  division    text COLLATE "C" NOT NULL,
  manager_id  text COLLATE "C" REFERENCES employee (user_id),
  hire_date   text COLLATE "C",
  active      boolean NOT NULL,
  created_at  bigint NOT NULL,
  updated_at  bigint NOT NULL
);
CREATE INDEX employee_division ON employee (division, user_id);

-- A customer's HTTPS address, and how requests to it are secured.
CREATE TABLE endpoint (
  id                             text COLLATE "C" PRIMARY KEY,
  customer_id                    text COLLATE "C" NOT NULL DEFAULT '' REFERENCES customer (id),
  name                           text COLLATE "C" NOT NULL,
  url                            text COLLATE "C" NOT NULL,
  api_key                        bytea NOT NULL,
  secret                         bytea NOT NULL,
  secret_created_at              bigint NOT NULL,
  next_secret                    bytea,     -- signs from next_secret_at
  next_secret_created_at         bigint,
  next_secret_at                 bigint,
  signature_type                 text COLLATE "C" NOT NULL DEFAULT 'hmac' CHECK (signature_type IN ('hmac', 'ed25519')),
  signing_key                    bytea,     -- the private key of ed25519
  public_key                     text COLLATE "C",
  next_signing_key               bytea,     -- signs from next_secret_at
  next_public_key                text COLLATE "C",
  secret_overlap_ends_at         bigint,  -- until then Standard Webhooks requests are signed with both secrets
  next_api_key                   bytea,     -- sent from next_api_key_at
  next_api_key_at                bigint,
  send_api_key                   boolean NOT NULL DEFAULT true,
  authentication                 bytea,
  next_authentication            bytea,     -- sent from next_authentication_at
  next_authentication_at         bigint,
  request_headers                bytea,
  content_encoding               text COLLATE "C" CHECK (content_encoding = 'gzip'),
  token_challenge                boolean NOT NULL,
  verification                   text COLLATE "C" CHECK (verification = 'cloudevents'),
  allowed_requests_per_minute    bigint CHECK (allowed_requests_per_minute > 0),  -- by the receiver's answer to the handshake
  verified                       boolean NOT NULL,
  enabled                        boolean NOT NULL,
  enable_when_verified           boolean NOT NULL,
  oauth_client_id                text COLLATE "C",
  oauth_client_secret            bytea,
  oauth_token_url                text COLLATE "C",
  oauth_token_expiration_minutes bigint,
  oauth_scopes                   text COLLATE "C",
  client_certificate             text COLLATE "C",
  client_private_key             bytea,
  client_certificate_expires_at  bigint,
  client_certificate_warned_days bigint,  -- days of the last expiry warning: 30, 7 or 1
  last_verification              json,
  created_at                     bigint NOT NULL,
  updated_at                     bigint NOT NULL,
  CHECK ((NOT token_challenge AND verification IS NULL) OR verified OR NOT enabled),
  CHECK (NOT token_challenge OR verification IS NULL),
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
);

-- A customer's PGP public key. Payloads are encrypted for it.
CREATE TABLE pgp_key (
  id          text COLLATE "C" PRIMARY KEY,
  customer_id text COLLATE "C" NOT NULL DEFAULT '' REFERENCES customer (id),
  name        text COLLATE "C" NOT NULL,
  public_key  text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  algorithm   text COLLATE "C" NOT NULL,
  expires_at  bigint,
  warned_days bigint,  -- days of the last expiry warning: 30, 7 or 1
  created_at  bigint NOT NULL,
  updated_at  bigint NOT NULL,
  UNIQUE (customer_id, name)
);

-- An event type that may be published. Every start rewrites the built-in types.
CREATE TABLE event_type (
  id                  text COLLATE "C" PRIMARY KEY,
  name                text COLLATE "C" NOT NULL UNIQUE,
  description         text COLLATE "C" NOT NULL,
  encryption_required boolean NOT NULL,
  built_in            boolean NOT NULL,
  data_schema         json,  -- JSON Schema of the event's data
  sample              json,  -- data of an example
  group_name          text COLLATE "C",  -- where the event catalogue lists it
  source              text COLLATE "C",  -- the `source` of its CloudEvents; null: the address of the service
  deprecated          boolean NOT NULL,
  public              boolean NOT NULL,  -- whether everybody sees it in the event catalogue
  search_paths        json NOT NULL DEFAULT '[]',  -- find its events by the values there
  created_at          bigint NOT NULL,
  updated_at          bigint NOT NULL
);

-- A process that serves or delivers. Each start takes a new number. An instance renews its row; when that has expired, another one gives back
-- what it held and deletes it. The references to this table keep a number that was deleted from holding anything again.
CREATE TABLE instance (
  number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text COLLATE "C" NOT NULL,
  version    text COLLATE "C" NOT NULL,
  address    text COLLATE "C",           -- where it listens; null if it does not
  webhooks   bigint NOT NULL DEFAULT 0,  -- how many it holds
  started_at bigint NOT NULL,
  seen_at    bigint NOT NULL,
  expires_at bigint NOT NULL              -- by the clock of the database
) WITH (fillfactor = 50);

-- A webhook: which events go to which endpoint, and how. Nothing is sent for one in mode `pull`: its reader fetches the records and
-- acknowledges them. The log tables have its `number`.
CREATE TABLE webhook (
  number                 bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY CHECK (number < 67108864),
  id                     text COLLATE "C" NOT NULL UNIQUE,
  customer_id            text COLLATE "C" NOT NULL DEFAULT '' REFERENCES customer (id),
  name                   text COLLATE "C" NOT NULL,
  mode                   text COLLATE "C" NOT NULL DEFAULT 'push' CHECK (mode IN ('push', 'pull')),
  endpoint_id            text COLLATE "C",
  format                 text COLLATE "C" NOT NULL DEFAULT 'records' CHECK (format IN ('records', 'standard', 'cloudevents', 'cloudevents-binary')),
  batch                  boolean NOT NULL DEFAULT false,
  thin                   boolean NOT NULL DEFAULT false,
  event_types            json NOT NULL,
  filter                 json,  -- which events of these types it gets
  custom_headers         json NOT NULL,
  encryption_key_name    text COLLATE "C",
  ordered                text COLLATE "C" NOT NULL CHECK (ordered IN ('none', 'webhook', 'key')),
  max_batch_records      bigint NOT NULL CHECK (max_batch_records BETWEEN 1 AND 1000),
  max_records_per_second double precision,
  retry_policy           text COLLATE "C" NOT NULL CHECK (retry_policy IN ('exponential', 'linear', 'schedule')),
  max_attempts           bigint NOT NULL,
  retry_delays_seconds   json,  -- the waits of the policy `schedule`
  standard_webhooks      boolean NOT NULL,
  signature              json,
  heartbeat_seconds      bigint NOT NULL,
  timeout_seconds        bigint NOT NULL CHECK (timeout_seconds BETWEEN 1 AND 60),
  created_at             bigint NOT NULL,
  updated_at             bigint NOT NULL,
  FOREIGN KEY (customer_id, endpoint_id) REFERENCES endpoint (customer_id, id),
  FOREIGN KEY (customer_id, encryption_key_name) REFERENCES pgp_key (customer_id, name) ON UPDATE CASCADE,
  CHECK (NOT batch OR format = 'cloudevents'),
  CHECK (NOT thin OR format <> 'records'),
  CHECK ((retry_policy = 'schedule') = (retry_delays_seconds IS NOT NULL)),
  CHECK ((mode = 'pull') = (endpoint_id IS NULL))
);
CREATE INDEX webhook_endpoint ON webhook (endpoint_id);
CREATE INDEX webhook_encryption_key ON webhook (customer_id, encryption_key_name);
CREATE INDEX webhook_customer ON webhook (customer_id, number);

-- The number of a deleted webhook. Housekeeping deletes its log in small steps.
CREATE TABLE removed_webhook (number bigint PRIMARY KEY);

-- The state of a webhook and its session. Publishers lock this row, and only a change of state or health makes a version of it.
CREATE TABLE webhook_progress (
  webhook_number     bigint PRIMARY KEY REFERENCES webhook (number) ON DELETE CASCADE,
  pulled             boolean NOT NULL DEFAULT false,  -- whether the webhook's mode is `pull`
  state              text COLLATE "C" NOT NULL CHECK (state IN ('stopped', 'started', 'running', 'failing', 'failed')),
  state_reason       text COLLATE "C",  -- a code from a fixed list
  state_detail       text COLLATE "C",  -- the receiver's answer, if the code does not tell it
  state_at           bigint NOT NULL,
  session_id         text COLLATE "C",
  session_at         bigint,
  base_offset        bigint NOT NULL DEFAULT 0,  -- the next record gets at least this offset, also after retention deleted all records
  failing_since_at   bigint,
  failure_streak     bigint NOT NULL,  -- consecutive failed attempts caused by the endpoint, not by the content
  probe_at           bigint,           -- while failing: no attempt before this time
  dead_streak        bigint NOT NULL,  -- consecutive batches that used up their attempts
  resume_at          bigint,           -- since then waiting retries are being made due, after a start or a new address
  -- Records from `base_offset` on have events with at least this key, so that a publisher need not look into older partitions.
  -- Housekeeping raises both once for each partition.
  base_key           bigint NOT NULL DEFAULT 0
);
ALTER TABLE webhook_progress SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE TABLE webhook_position (
  webhook_number  bigint PRIMARY KEY REFERENCES webhook_progress (webhook_number) ON DELETE CASCADE,
  covered_offset  bigint NOT NULL DEFAULT 0,
  pending_records bigint NOT NULL DEFAULT 0,  -- records in pending batches, so that the queue's depth needs no count
  sent_at         bigint                      -- the last attempt, heartbeats included
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- The instance that sends for a webhook. `epoch` grows when another one takes the webhook: settlements hold only in their epoch.
CREATE TABLE webhook_hold (
  webhook_number bigint PRIMARY KEY REFERENCES webhook_progress (webhook_number) ON DELETE CASCADE,
  holder         bigint REFERENCES instance (number),
  epoch          bigint NOT NULL DEFAULT 0
);

CREATE TABLE webhook_change (
  number         bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  webhook_number bigint NOT NULL
);

-- The subscriptions of webhooks: an event type, a category with `.*`, or `*`.
CREATE TABLE subscription (
  pattern        text COLLATE "C" NOT NULL,
  customer_id    text COLLATE "C" NOT NULL,  -- of the webhook
  webhook_number bigint NOT NULL REFERENCES webhook (number) ON DELETE CASCADE,
  filtered       boolean NOT NULL,  -- whether the webhook has a filter
  PRIMARY KEY (pattern, customer_id, webhook_number)
);
CREATE INDEX subscription_webhook ON subscription (webhook_number);
CREATE INDEX subscription_filtered ON subscription (pattern, customer_id, webhook_number) WHERE filtered;
-- A transaction that publishes sees the same subscriptions in each of its statements: changes of them wait until it ends. Otherwise it might
-- take an offset for a webhook and then add no record to its log.
CREATE FUNCTION hold_subscriptions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE subscription IN ROW SHARE MODE;
  RETURN NULL;
END $$;
CREATE FUNCTION await_publishers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE subscription IN EXCLUSIVE MODE;
  RETURN NULL;
END $$;
CREATE TRIGGER subscription_change BEFORE INSERT OR UPDATE OR DELETE ON subscription EXECUTE FUNCTION await_publishers();
-- Before the deletion locks the progress of the webhook, for which a publisher may wait.
CREATE TRIGGER webhook_delete BEFORE DELETE ON webhook EXECUTE FUNCTION await_publishers();

-- An event. `key` has the first 53 bits of the time and counter in `id`, so that events are stored in order.
CREATE TABLE event (
  key            bigint PRIMARY KEY,
  id             text COLLATE "C" NOT NULL,
  type           text COLLATE "C" NOT NULL,
  data           text COLLATE "C",           -- the JSON text that is sent; null once erased
  subject        text COLLATE "C",           -- the person that the event is about
  audience       text COLLATE "C" NOT NULL DEFAULT '',  -- who gets it besides the operator: a customer's id, '*' for every customer, or '' for nobody
  correlation_id text COLLATE "C" NOT NULL,
  actor_id       text COLLATE "C",
  created_at     bigint NOT NULL,
  erased_at      bigint,
  content_hash   bytea CHECK (length(content_hash) = 32),  -- if it has an idempotency key; null once erased
  ordering_key   text COLLATE "C",           -- events of one key stay in order (webhook.ordered); null once erased
  CHECK (erased_at IS NULL OR content_hash IS NULL),
  CHECK ((data IS NULL) = (erased_at IS NOT NULL))
) PARTITION BY RANGE (key);
CREATE TRIGGER event_insert BEFORE INSERT ON event EXECUTE FUNCTION hold_subscriptions();
CREATE INDEX event_subject ON event (subject, key) WHERE subject IS NOT NULL;
CREATE INDEX event_erased ON event (erased_at) WHERE erased_at IS NOT NULL;
-- The latest events that a customer could get. Events that only the operator gets do not pay for it.
CREATE INDEX event_of_audience ON event (audience, key) WHERE audience <> '';
-- Lists by type and lists of discarded records, newest first: every index ends in the key. The first one takes 5 % of a publish.
CREATE INDEX event_of_type ON event (type, key);
CREATE INDEX event_erased_key ON event (key) WHERE erased_at IS NOT NULL;
-- Events of one ordering key, newest first. Events without one do not pay for it.
CREATE INDEX event_of_key ON event (ordering_key, key) WHERE ordering_key IS NOT NULL;
-- The same of one audience, so that a customer's search does not read what others have. Events that only the operator gets do not pay for it.
CREATE INDEX event_of_audience_key ON event (audience, ordering_key, key) WHERE ordering_key IS NOT NULL AND audience <> '';
-- Events about a webhook's changes of state. They are few, and other events do not pay for this index.
CREATE INDEX event_of_webhook ON event ((CAST(data AS json) ->> 'webhookId'), key) WHERE type LIKE 'webhook.%';

-- A requested erasure of one person's events. Until it is finished, events of the subject up to `through_key` are not sent, whether they
-- are overwritten yet or not.
CREATE TABLE erasure (
  id                   text COLLATE "C" PRIMARY KEY,
  subject              text COLLATE "C" NOT NULL,
  actor                text COLLATE "C" NOT NULL,
  through_key          bigint NOT NULL,  -- the last event of the erasure; -1: there is none
  after_key            bigint NOT NULL,  -- events up to this one are overwritten
  events               bigint NOT NULL DEFAULT 0,
  deliveries_discarded bigint NOT NULL DEFAULT 0,
  attempts             bigint NOT NULL DEFAULT 0,
  started_at           bigint NOT NULL,
  finished_at          bigint
);
CREATE INDEX erasure_open ON erasure (subject, through_key) WHERE finished_at IS NULL;
CREATE INDEX erasure_finished ON erasure (finished_at) WHERE finished_at IS NOT NULL;

-- What people find events by: the values at the `search_paths` of their type, kept shortly after publishing. `term` is a keyed hash of the
-- value, so that the table tells nothing of the data. Other events do not pay for it. An erasure deletes the rows of its events;
-- housekeeping deletes those of events that are gone, and of paths that the type no longer has.
CREATE TABLE event_term (
  term      text COLLATE "C" NOT NULL,
  audience  text COLLATE "C" NOT NULL,     -- of the event
  event_key bigint NOT NULL,
  path      text COLLATE "C" NOT NULL,
  PRIMARY KEY (term, audience, event_key, path)
);
CREATE INDEX event_term_newest ON event_term (term, event_key);
CREATE INDEX event_term_event ON event_term (event_key);

-- How far the events of a type were read for `event_term`, with which paths.
CREATE TABLE event_term_progress (
  type        text COLLATE "C" PRIMARY KEY,
  paths       text COLLATE "C" NOT NULL,
  through_key bigint NOT NULL  -- -1: none yet
);

-- A publisher's idempotency key and its event, kept for 24 hours. The hash of the content is stored with the event, so that an erasure
-- leaves no trace here.
CREATE TABLE idempotency (
  publisher  text COLLATE "C" NOT NULL,  -- the application's id, or 'command-line'
  key        text COLLATE "C" NOT NULL,
  event_id   text COLLATE "C" NOT NULL,
  event_key  bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (publisher, key)
);
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

-- The reply to a request with an Idempotency-Key that created a resource, kept for 24 hours and sent again if the request is repeated. It is
-- encrypted together with a hash of the request, because both may reveal a secret.
CREATE TABLE kept_reply (
  application_id text COLLATE "C" NOT NULL,
  key            text COLLATE "C" NOT NULL,
  reply          bytea NOT NULL,
  expires_at     bigint NOT NULL,
  PRIMARY KEY (application_id, key)
);
CREATE INDEX kept_reply_expiry ON kept_reply (expires_at);

-- The outbox: one row for each event and subscribed webhook, numbered without gaps per webhook. Only publishing adds rows, and only
-- housekeeping deletes them, oldest settled records first. The log tables have no foreign keys, because deleting a webhook would then
-- delete its whole log in one transaction.
CREATE TABLE outbox (
  webhook_number bigint NOT NULL,
  record_offset  bigint NOT NULL,
  event_key      bigint NOT NULL,
  data_bytes     bigint NOT NULL,  -- size of the data as published, for the size of batches
  -- A partitioned table cannot promise more. The lock on the webhook's progress keeps offsets unique.
  PRIMARY KEY (webhook_number, record_offset, event_key)
) PARTITION BY RANGE (event_key);
CREATE INDEX outbox_event ON outbox (event_key, webhook_number, record_offset);

-- Records that were sent together: inserted with their outcome, and changed later only after a failure, a replay or a slow attempt. A
-- pending batch without `next_attempt_at` waits for earlier records of its key.
CREATE TABLE batch (
  webhook_number   bigint NOT NULL,
  first_offset     bigint NOT NULL,
  last_offset      bigint NOT NULL,
  id               text COLLATE "C" NOT NULL,
  state            text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'delivered', 'dead', 'discarded')),
  attempt_count    bigint NOT NULL,
  content_refusals bigint NOT NULL,  -- consecutive answers that refuse the content, and resets without an answer; the second one halves the batch
  next_attempt_at  bigint,
  lease_owner      text COLLATE "C",
  settled_at       bigint,
  updated_at       bigint,  -- the last claim, outcome or replay
  order_key        text COLLATE "C",  -- while it waits, with `ordered` `key`: the key of all its records, '' for none; null: not looked at
  PRIMARY KEY (webhook_number, first_offset),
  CHECK (first_offset <= last_offset),
  CHECK (state = 'pending' OR next_attempt_at IS NULL),
  CHECK ((state = 'pending') = (settled_at IS NULL)),
  CHECK (lease_owner IS NULL OR state = 'pending')
);
CREATE INDEX batch_due ON batch (webhook_number, next_attempt_at) WHERE state = 'pending';
CREATE INDEX batch_pending ON batch (webhook_number, first_offset) WHERE state = 'pending';
-- By the order of a key.
CREATE INDEX batch_order_key ON batch (webhook_number, order_key, first_offset) WHERE state = 'pending';
CREATE INDEX batch_leased ON batch (webhook_number, first_offset) WHERE lease_owner IS NOT NULL;
CREATE INDEX batch_dead ON batch (webhook_number, first_offset, last_offset) WHERE state = 'dead';

-- A transaction that writes nothing does not wait for the synchronous standby, which may not have what the transaction read. A record in
-- the write-ahead log makes it wait.
CREATE FUNCTION wait_for_standby() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local') THEN
    PERFORM pg_logical_emit_message(true, 'sallyport', '');
  END IF;
END $$;

-- Publishing. Each statement of these functions sees only earlier commits, so one that waited for the lock of a log sees the
-- records of the publisher that held it. Locks are taken in the order of the webhooks' numbers, so that publishers cannot deadlock, and held
-- until the commit. So offsets have no gaps, and a later offset is never visible before an earlier one. No row is updated.

-- Publishes one event. If its idempotency key belongs to another event, it publishes nothing and returns that event. `appended`: the
-- webhooks whose logs got the event, or a null. `again`: nobody knows whether an earlier call was committed. Then it is not repeated.
CREATE FUNCTION publish_event(
  new_key bigint, new_id text, new_type text, new_data text, new_subject text, new_audience text, new_correlation_id text,
  new_actor_id text, new_ordering_key text, new_created_at bigint, new_publisher text, new_idempotency_key text, new_expires_at bigint,
  new_content_hash bytea, excluded_webhooks bigint[], again boolean,
  OUT holder text, OUT is_same boolean, OUT appended bigint[]
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  patterns text[] := ARRAY[new_type, substr(new_type, 1, strpos(new_type, '.')) || '*', '*'];
  customers text[] := ARRAY[''];
  numbers bigint[];
  number bigint;
  base bigint;
  bases bigint[] := '{}';
  first_key bigint;
  first_keys bigint[] := '{}';
  next_offset bigint;
BEGIN
  appended := '{NULL}';
  IF new_publisher IS NOT NULL THEN
    INSERT INTO idempotency AS i (publisher, key, event_id, event_key, expires_at)
    VALUES (new_publisher, new_idempotency_key, new_id, new_key, new_expires_at)
    ON CONFLICT (publisher, key) DO UPDATE
    SET event_id = excluded.event_id, event_key = excluded.event_key, expires_at = excluded.expires_at
    WHERE i.expires_at <= new_created_at;
    IF NOT FOUND THEN
      SELECT nullif(i.event_id, new_id), e.content_hash IS NULL OR e.content_hash = new_content_hash INTO holder, is_same
      FROM idempotency AS i LEFT JOIN event AS e ON e.key = i.event_key
      WHERE i.publisher = new_publisher AND i.key = new_idempotency_key;
      PERFORM wait_for_standby();
      RETURN;
    END IF;
  END IF;
  IF again THEN
    -- Waits for the earlier call if it is still in progress.
    INSERT INTO event (key, id, type, data, subject, audience, correlation_id, actor_id, ordering_key, created_at, content_hash)
    VALUES (new_key, new_id, new_type, new_data, new_subject, new_audience, new_correlation_id, new_actor_id, new_ordering_key,
      new_created_at, new_content_hash)
    ON CONFLICT (key) DO NOTHING;
    IF NOT FOUND THEN
      PERFORM FROM event WHERE key = new_key AND id = new_id;
      IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'unique_violation', TABLE = 'event', MESSAGE = 'another event has the key';
      END IF;
      PERFORM wait_for_standby();
      RETURN;
    END IF;
  ELSE
    INSERT INTO event (key, id, type, data, subject, audience, correlation_id, actor_id, ordering_key, created_at, content_hash)
    VALUES (new_key, new_id, new_type, new_data, new_subject, new_audience, new_correlation_id, new_actor_id, new_ordering_key,
      new_created_at, new_content_hash);
  END IF;
  IF new_audience <> '' AND EXISTS (SELECT FROM event_type AS t WHERE t.name = new_type AND t.public) THEN
    customers := CASE WHEN new_audience <> '*' THEN ARRAY['', new_audience] END;
  END IF;
  IF customers IS NULL THEN
    SELECT array_agg(DISTINCT s.webhook_number) INTO numbers FROM subscription AS s
    WHERE s.pattern = ANY (patterns) AND s.webhook_number <> ALL (excluded_webhooks);
  ELSE
    SELECT array_agg(DISTINCT s.webhook_number) INTO numbers FROM subscription AS s
    WHERE s.pattern = ANY (patterns) AND s.customer_id = ANY (customers) AND s.webhook_number <> ALL (excluded_webhooks);
  END IF;
  IF numbers IS NULL THEN
    RETURN;
  END IF;
  appended := numbers;
  FOREACH number IN ARRAY numbers LOOP
    SELECT p.base_offset, p.base_key INTO base, first_key FROM webhook_progress AS p WHERE p.webhook_number = number FOR NO KEY UPDATE;
    IF new_key < first_key THEN
      first_key := new_key;
      UPDATE webhook_progress SET base_key = new_key WHERE webhook_number = number;
    END IF;
    bases := bases || base;
    first_keys := first_keys || first_key;
  END LOOP;
  FOR at IN 1 .. cardinality(numbers) LOOP
    number := numbers[at];
    first_key := first_keys[at];
    SELECT o.record_offset + 1 INTO next_offset FROM outbox AS o WHERE o.webhook_number = number AND o.event_key >= first_key
    ORDER BY o.record_offset DESC LIMIT 1;
    INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes)
    VALUES (number, greatest(next_offset, bases[at]), new_key, octet_length(new_data));
  END LOOP;
END $$;

-- Publishes several events of several requests, each request as a whole or not at all. Returns the events of others that hold idempotency
-- keys, with the place of the event that wanted it, and the webhooks whose logs grew. `wanted_data` is divided by U+001F.
CREATE FUNCTION publish_events(
  wanted_key bigint[], wanted_id text[], wanted_type text[], wanted_subject text[], wanted_audience text[], wanted_correlation_id text[],
  wanted_actor_id text[], wanted_ordering_key text[], wanted_created_at bigint[], wanted_data text, wanted_bytes bigint[],
  keyed_request bigint[], keyed_publisher text[], keyed_idempotency_key text[], keyed_expires_at bigint[], keyed_content_hash bytea[],
  now bigint, excluded_place bigint[], excluded_webhook_number bigint[]
) RETURNS TABLE (held_place bigint, holder text, is_same boolean, appended bigint)
-- Plans for any number of rows: a plan for each call would take as long as the call.
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  held_places bigint[];
  holders text[];
  are_same boolean[];
  refused bigint[];
  skipped bigint[];
  taken bigint;
  types text[];
  audiences text[];
  subscribed bigint[];
  numbers bigint[];
  bases bigint[];
  first_key bigint;
  last_key bigint;
  oldest_key bigint;
BEGIN
  IF keyed_request IS NOT NULL THEN
    -- A key that another event holds: the event repeats that one, or its whole request is refused. An erased or deleted event has no hash,
    -- so repeating its key publishes nothing, whatever the content is.
    SELECT array_agg(h.place), array_agg(h.event_id), array_agg(h.is_same), array_agg(h.request) FILTER (WHERE NOT h.is_same)
    INTO held_places, holders, are_same, refused
    FROM (
      SELECT k.place, k.request, i.event_id, e.content_hash IS NULL OR e.content_hash = k.content_hash AS is_same
      FROM unnest(keyed_request, keyed_publisher, keyed_idempotency_key, keyed_content_hash)
        WITH ORDINALITY AS k (request, publisher, idempotency_key, content_hash, place)
      JOIN idempotency AS i ON i.publisher = k.publisher AND i.key = k.idempotency_key AND i.expires_at > now
      LEFT JOIN event AS e ON e.key = i.event_key) AS h;
    SELECT array_agg(k.place) INTO skipped FROM unnest(keyed_request) WITH ORDINALITY AS k (request, place)
    WHERE k.place = ANY (held_places) OR k.request = ANY (refused);
    INSERT INTO idempotency AS i (publisher, key, event_id, event_key, expires_at)
    SELECT k.publisher, k.idempotency_key, k.id, k.key, k.expires_at
    FROM unnest(keyed_publisher, keyed_idempotency_key, wanted_id, wanted_key, keyed_expires_at)
      WITH ORDINALITY AS k (publisher, idempotency_key, id, key, expires_at, place)
    WHERE k.publisher IS NOT NULL AND (skipped IS NULL OR k.place NOT IN (SELECT unnest(skipped)))
    ORDER BY k.publisher, k.idempotency_key
    ON CONFLICT (publisher, key) DO UPDATE
    SET event_id = excluded.event_id, event_key = excluded.event_key, expires_at = excluded.expires_at
    WHERE i.expires_at <= now;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken <> (
      SELECT count(k.publisher) FROM unnest(keyed_publisher) WITH ORDINALITY AS k (publisher, place)
      WHERE skipped IS NULL OR k.place NOT IN (SELECT unnest(skipped)))
    THEN
      RAISE EXCEPTION USING ERRCODE = 'serialization_failure', MESSAGE = 'another instance took an idempotency key';
    END IF;
  END IF;

  INSERT INTO event (key, id, type, data, subject, audience, correlation_id, actor_id, ordering_key, created_at, content_hash)
  SELECT w.key, w.id, w.type, w.data, w.subject, w.audience, w.correlation_id, w.actor_id, w.ordering_key, w.created_at, w.content_hash
  FROM ROWS FROM (
    unnest(wanted_key), unnest(wanted_id), unnest(wanted_type), unnest(string_to_array(wanted_data, chr(31))), unnest(wanted_subject),
    unnest(wanted_audience), unnest(wanted_correlation_id), unnest(wanted_actor_id), unnest(wanted_ordering_key),
    unnest(wanted_created_at), unnest(keyed_content_hash)
  ) WITH ORDINALITY
    AS w (key, id, type, data, subject, audience, correlation_id, actor_id, ordering_key, created_at, content_hash, place)
  WHERE skipped IS NULL OR w.place NOT IN (SELECT unnest(skipped))
  ORDER BY w.key;

  SELECT array_agg(s.type), array_agg(s.audience), array_agg(s.webhook_number) INTO types, audiences, subscribed
  FROM (
    WITH told AS MATERIALIZED (
      SELECT DISTINCT w.type, w.audience FROM unnest(wanted_type, wanted_audience) WITH ORDINALITY AS w (type, audience, place)
      WHERE skipped IS NULL OR w.place NOT IN (SELECT unnest(skipped)))
    SELECT t.type, t.audience, s.webhook_number FROM told AS t
    JOIN subscription AS s ON s.pattern = ANY (ARRAY[t.type, substr(t.type, 1, strpos(t.type, '.')) || '*', '*'])
      AND s.customer_id = ANY (ARRAY['',
        CASE WHEN t.audience <> '' AND EXISTS (SELECT FROM event_type AS x WHERE x.name = t.type AND x.public) THEN t.audience ELSE '' END])
    WHERE t.audience <> '*'
    UNION
    SELECT t.type, t.audience, s.webhook_number FROM told AS t
    JOIN subscription AS s ON s.pattern = ANY (ARRAY[t.type, substr(t.type, 1, strpos(t.type, '.')) || '*', '*'])
      AND (s.customer_id = '' OR EXISTS (SELECT FROM event_type AS x WHERE x.name = t.type AND x.public))
    WHERE t.audience = '*') AS s;
  SELECT array_agg(log.webhook_number), array_agg(log.base_offset), min(log.base_key), max(log.base_key)
  INTO numbers, bases, first_key, last_key
  FROM (
    SELECT p.webhook_number, p.base_offset, p.base_key FROM webhook_progress AS p
    WHERE p.webhook_number IN (SELECT unnest(subscribed)) ORDER BY p.webhook_number FOR NO KEY UPDATE) AS log;
  SELECT min(w.key) INTO oldest_key FROM unnest(wanted_key) AS w (key);
  IF oldest_key < last_key THEN
    first_key := least(first_key, oldest_key);
    UPDATE webhook_progress SET base_key = first_key WHERE webhook_number = ANY (numbers);
  END IF;
  IF numbers IS NOT NULL THEN
    WITH log AS MATERIALIZED (
      SELECT l.webhook_number, greatest(l.base_offset, (
        SELECT o.record_offset + 1 FROM outbox AS o WHERE o.webhook_number = l.webhook_number AND o.event_key >= first_key
        ORDER BY o.record_offset DESC LIMIT 1)) AS next_offset
      FROM unnest(numbers, bases) AS l (webhook_number, base_offset)),
    reached AS MATERIALIZED (
      SELECT s.type, s.audience, log.webhook_number, log.next_offset
      FROM unnest(types, audiences, subscribed) AS s (type, audience, webhook_number) JOIN log ON log.webhook_number = s.webhook_number)
    INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes)
    SELECT log.webhook_number, log.next_offset + row_number() OVER (PARTITION BY log.webhook_number ORDER BY w.place) - 1, w.key, w.bytes
    FROM unnest(wanted_key, wanted_type, wanted_audience, wanted_bytes) WITH ORDINALITY AS w (key, type, audience, bytes, place)
    JOIN reached AS log ON log.type = w.type AND log.audience = w.audience
    WHERE (skipped IS NULL OR w.place NOT IN (SELECT unnest(skipped)))
      -- A hashed subplan. NOT EXISTS compared every record with every exclusion: the planner cannot know how many there are.
      AND (excluded_place IS NULL
        OR (w.place, log.webhook_number) NOT IN (
          SELECT x.place, x.number FROM unnest(excluded_place, excluded_webhook_number) AS x (place, number)));
  END IF;
  RETURN QUERY SELECT h.place, h.event_id, h.is_same, CAST(NULL AS bigint)
    FROM unnest(held_places, holders, are_same) AS h (place, event_id, is_same);
  RETURN QUERY SELECT CAST(NULL AS bigint), CAST(NULL AS text), CAST(NULL AS boolean), log.number FROM unnest(numbers) AS log (number);
END $$;

-- The progress of webhooks with what the log tells.
CREATE VIEW webhook_status AS
SELECT p.*, q.covered_offset AS cursor_offset, q.pending_records, q.sent_at, log.next_offset,
  log.next_offset - q.covered_offset - coalesce((
    SELECT CAST(sum(b.last_offset - b.first_offset + 1) AS bigint) FROM batch AS b
    WHERE b.webhook_number = p.webhook_number AND b.first_offset >= q.covered_offset), 0) AS waiting_records
FROM webhook_progress AS p JOIN webhook_position AS q ON q.webhook_number = p.webhook_number
CROSS JOIN LATERAL (
  SELECT greatest(p.base_offset, (
    SELECT max(o.record_offset) + 1 FROM outbox AS o WHERE o.webhook_number = p.webhook_number AND o.event_key >= p.base_key
  )) AS next_offset) AS log;

-- One request to a receiver and its outcome. Heartbeats and tests have no offsets.
CREATE TABLE attempt (
  key              bigint PRIMARY KEY,
  id               text COLLATE "C" NOT NULL,
  webhook_number   bigint NOT NULL,
  kind             text COLLATE "C" NOT NULL CHECK (kind IN ('delivery', 'heartbeat', 'test')),
  batch_id         text COLLATE "C",
  first_offset     bigint,
  last_offset      bigint,
  attempt_number   bigint NOT NULL,
  started_at       bigint NOT NULL,
  request_headers  text COLLATE "C" NOT NULL,  -- secrets masked
  response_status  bigint,
  response_headers text COLLATE "C",
  response_body    bytea,           -- the first 4 KiB
  error_class      text COLLATE "C",           -- null: delivered
  error_message    text COLLATE "C",
  response_problem text COLLATE "C",           -- how the response violates HTTP, or why its rest could not be read
  timings          text COLLATE "C" NOT NULL,
  CHECK ((kind = 'delivery') = (first_offset IS NOT NULL)),
  CHECK ((first_offset IS NULL) = (last_offset IS NULL))
) PARTITION BY RANGE (key);
CREATE INDEX attempt_record ON attempt (webhook_number, first_offset, last_offset, key);

-- Counts within `span_seconds` from `at`, for charts: of one webhook, or with number 0 of the whole service. Collected in memory and added
-- here twice a minute. Spans of a minute are kept for two hours, ten minutes for 25 hours, an hour for eight days.
CREATE TABLE figure (
  span_seconds    bigint NOT NULL CHECK (span_seconds IN (60, 600, 3600)),
  webhook_number  bigint NOT NULL,
  at              bigint NOT NULL,
  delivered       bigint NOT NULL,  -- records by the outcome of an attempt: delivered, to be retried, dead
  retried         bigint NOT NULL,
  dead            bigint NOT NULL,
  attempts        bigint NOT NULL,  -- requests that carried records
  failed_attempts bigint NOT NULL,
  latencies       json NOT NULL,  -- durations: [bucket, requests, bucket, requests, …]
  tokens_issued   bigint NOT NULL,
  tokens_refused  bigint NOT NULL,
  calls_refused   bigint NOT NULL,  -- by the gate
  PRIMARY KEY (span_seconds, webhook_number, at)
);
CREATE INDEX figure_at ON figure (span_seconds, at);

-- What a customer used on a day (UTC), or with the empty id the operator. Collected in memory and added here twice a minute, kept for 400
-- days. There is no foreign key: the usage of a deleted customer may not be billed yet.
CREATE TABLE customer_usage (
  customer_id text COLLATE "C" NOT NULL,
  day         text COLLATE "C" NOT NULL,  -- 2026-11-21
  events      bigint NOT NULL,            -- published for it
  deliveries  bigint NOT NULL,            -- records that its webhooks delivered
  attempts    bigint NOT NULL,            -- requests of its webhooks that carried records
  failures    bigint NOT NULL,            -- those of them that failed
  bytes       bigint NOT NULL,            -- of the bodies of answered ones
  tokens      bigint NOT NULL,            -- issued to its applications
  PRIMARY KEY (customer_id, day)
);
CREATE INDEX customer_usage_day ON customer_usage (day);

-- Administrative changes. Each entry has the hash of the previous entry, which reveals removed and altered entries.
CREATE TABLE audit (
  number        bigint PRIMARY KEY,
  id            text COLLATE "C" NOT NULL,
  at            bigint NOT NULL,
  actor         text COLLATE "C" NOT NULL,
  action        text COLLATE "C" NOT NULL,
  target        text COLLATE "C" NOT NULL,
  customer_id   text COLLATE "C" NOT NULL DEFAULT '',  -- whose audit log shows it, besides the operator's
  changes       json NOT NULL,  -- secrets masked
  previous_hash text COLLATE "C" NOT NULL,
  hash          text COLLATE "C" NOT NULL
);
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

-- Work that one instance does for all, such as housekeeping.
CREATE TABLE duty (
  name     text COLLATE "C" PRIMARY KEY,
  holder   bigint NOT NULL REFERENCES instance (number) ON DELETE CASCADE,
  taken_at bigint NOT NULL
);

-- What instances share for minutes. A crash of the server empties these tables, which harms nobody.

-- Failed authentications of the last minute, by the purpose and the network that they came from.
CREATE UNLOGGED TABLE authentication_failure (
  network text COLLATE "C" NOT NULL,
  client  text COLLATE "C" NOT NULL,  -- SHA-256 of the client id
  at      bigint NOT NULL
);
CREATE INDEX authentication_failure_network ON authentication_failure (network, at);
CREATE INDEX authentication_failure_at ON authentication_failure (at);

-- Passkey challenges, and results of forms that show a secret.
CREATE UNLOGGED TABLE short_lived (
  name       text COLLATE "C" PRIMARY KEY,
  value      bytea NOT NULL,  -- sealed
  expires_at bigint NOT NULL
);
CREATE INDEX short_lived_expiry ON short_lived (expires_at);

-- How many events each customer with a limit of events a second may publish at an instant, in thousandths of an event.
CREATE UNLOGGED TABLE event_allowance (
  customer_id text COLLATE "C" PRIMARY KEY REFERENCES customer (id) ON DELETE CASCADE,
  thousandths bigint NOT NULL,
  at          bigint NOT NULL
);
