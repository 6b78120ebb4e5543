/** The objects that schema.sql makes, by name. A test compares them with a new database, and says what to write here. */

const words = (line: string): string[] => line.split(' ');

/** The columns of each table, and of the view `webhook_status`. */
export const SCHEMA_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  access_token: words('key hash application_id scope expires_at'),
  access_version: words('value'),
  application: [
    'id customer_id name user_id client_id secret_hash secret_created_at previous_secret_hash previous_secret_expires_at',
    'access_token_validity_seconds scopes active tokens_revoked_through created_at updated_at',
  ].flatMap(words),
  application_use: words('application_id last_used_at'),
  attempt: [
    'key id webhook_number kind batch_id first_offset last_offset attempt_number started_at request_headers response_status',
    'response_headers response_body error_class error_message response_problem timings',
  ].flatMap(words),
  audit: words('number id at actor action target customer_id changes previous_hash hash'),
  authentication_failure: words('network client at'),
  batch: [
    'webhook_number first_offset last_offset id state attempt_count content_refusals next_attempt_at lease_owner settled_at',
    'updated_at order_key',
  ].flatMap(words),
  customer: words(
    'id name external_id metadata active max_endpoints max_webhooks max_events_per_second created_at updated_at',
  ),
  customer_usage: words('customer_id day events deliveries attempts failures bytes tokens'),
  duty: words('name holder taken_at'),
  employee: words(
    'user_id external_id user_name first_name last_name email division manager_id hire_date active created_at updated_at',
  ),
  endpoint: [
    'id customer_id name url api_key secret secret_created_at next_secret next_secret_created_at next_secret_at',
    'signature_type signing_key public_key next_signing_key next_public_key',
    'secret_overlap_ends_at next_api_key next_api_key_at send_api_key authentication next_authentication',
    'next_authentication_at request_headers content_encoding token_challenge verification',
    'allowed_requests_per_minute verified enabled enable_when_verified',
    'oauth_client_id oauth_client_secret oauth_token_url oauth_token_expiration_minutes oauth_scopes client_certificate',
    'client_private_key client_certificate_expires_at client_certificate_warned_days last_verification created_at updated_at',
  ].flatMap(words),
  erasure: words('id subject actor through_key after_key events deliveries_discarded attempts started_at finished_at'),
  event: words(
    'key id type data subject audience correlation_id actor_id created_at erased_at content_hash ordering_key',
  ),
  event_allowance: words('customer_id thousandths at'),
  event_term: words('term audience event_key path'),
  event_term_progress: words('type paths through_key'),
  event_type: [
    'id name description encryption_required built_in data_schema sample group_name source deprecated public search_paths',
    'created_at updated_at',
  ].flatMap(words),
  figure: [
    'span_seconds webhook_number at delivered retried dead attempts failed_attempts latencies tokens_issued tokens_refused',
    'calls_refused',
  ].flatMap(words),
  idempotency: words('publisher key event_id event_key expires_at'),
  instance: words('number name version address webhooks started_at seen_at expires_at'),
  invitation: words('user_id token_hash created_at expires_at used_at'),
  kept_reply: words('application_id key reply expires_at'),
  outbox: words('webhook_number record_offset event_key data_bytes'),
  passkey: words('id user_id credential_id public_key host name counter created_at used_at'),
  pgp_key: words('id customer_id name public_key fingerprint algorithm expires_at warned_days created_at updated_at'),
  portal_link: words(
    'id customer_id token_hash role session_seconds return_url renew_url created_at expires_at used_at',
  ),
  product: words('id name built_in scopes rules created_at updated_at'),
  removed_webhook: words('number'),
  schema_change: words('version oldest_program applied_at'),
  session: words(
    'id user_id customer_id token_hash role method address user_agent return_url created_at seen_at expires_at',
  ),
  setting: words('name value'),
  short_lived: words('name value expires_at'),
  subscription: words('pattern customer_id webhook_number filtered'),
  user_account: [
    'id customer_id user_name user_name_key display_name email active role permissions constraints password_hash created_at',
    'updated_at',
  ].flatMap(words),
  webhook: [
    'number id customer_id name mode endpoint_id format batch thin event_types filter custom_headers encryption_key_name ordered',
    'max_batch_records max_records_per_second retry_policy max_attempts retry_delays_seconds standard_webhooks signature',
    'heartbeat_seconds timeout_seconds created_at updated_at',
  ].flatMap(words),
  webhook_change: words('number webhook_number'),
  webhook_hold: words('webhook_number holder epoch'),
  webhook_position: words('webhook_number covered_offset pending_records sent_at'),
  webhook_progress: [
    'webhook_number pulled state state_reason state_detail state_at session_id session_at base_offset failing_since_at failure_streak',
    'probe_at dead_streak resume_at base_key',
  ].flatMap(words),
  webhook_status: [
    'webhook_number pulled state state_reason state_detail state_at session_id session_at base_offset failing_since_at failure_streak',
    'probe_at dead_streak resume_at base_key cursor_offset pending_records sent_at next_offset waiting_records',
  ].flatMap(words),
};

/** Every table. A restore that was broken off leaves some of them. */
export const SCHEMA_TABLES: readonly string[] = Object.keys(SCHEMA_COLUMNS);

/** Without them ON CONFLICT fails, or a value comes twice. */
export const UNIQUE_INDEXES: readonly string[] = [
  'access_token_pkey application_client_id_key application_pkey application_use_pkey attempt_pkey audit_pkey batch_pkey',
  'customer_external_id_key customer_pkey customer_usage_pkey duty_pkey employee_external_id_key employee_pkey employee_user_name_key',
  'endpoint_customer_id_id_key endpoint_pkey erasure_pkey event_allowance_pkey event_pkey event_term_pkey',
  'event_term_progress_pkey event_type_name_key event_type_pkey',
  'figure_pkey idempotency_pkey instance_pkey invitation_pkey invitation_token_hash_key kept_reply_pkey outbox_pkey',
  'passkey_credential_id_key passkey_pkey pgp_key_customer_id_name_key pgp_key_pkey portal_link_pkey portal_link_token_hash_key',
  'product_name_key product_pkey removed_webhook_pkey schema_change_pkey session_pkey session_token_hash_key setting_pkey',
  'short_lived_pkey subscription_pkey user_account_customer_id_id_key user_account_customer_id_user_name_key_key user_account_pkey',
  'webhook_change_pkey webhook_hold_pkey webhook_id_key webhook_pkey webhook_position_pkey webhook_progress_pkey',
].flatMap(words);

/** Without them statements are slow. */
export const OTHER_INDEXES: readonly string[] = [
  'application_customer application_user attempt_record audit_actor audit_at audit_customer audit_customer_kind',
  'audit_id audit_kind audit_target',
  'authentication_failure_at authentication_failure_network batch_dead batch_due batch_leased batch_order_key batch_pending',
  'customer_usage_day',
  'employee_division erasure_finished erasure_open event_erased event_erased_key event_of_audience event_of_audience_key event_of_key',
  'event_of_type event_of_webhook event_subject event_term_event event_term_newest figure_at idempotency_expiry kept_reply_expiry',
  'outbox_event passkey_user',
  'portal_link_customer portal_link_expiry',
  'product_updated session_customer session_expiry session_of_user short_lived_expiry subscription_filtered subscription_webhook',
  'webhook_customer webhook_encryption_key webhook_endpoint',
].flatMap(words);

export const SCHEMA_FUNCTIONS: readonly string[] = [
  'add_latencies await_publishers hold_subscriptions publish_event publish_events raise_access_version sha256_hex wait_for_standby',
].flatMap(words);

/** As `table.trigger`. */
export const SCHEMA_TRIGGERS: readonly string[] = [
  'access_token.access_token_delete access_token.access_token_update application.application_delete application.application_update',
  'customer.customer_update event.event_insert product.product_delete product.product_insert product.product_update',
  'session.session_delete subscription.subscription_change user_account.user_account_delete user_account.user_account_update',
  'webhook.webhook_delete',
].flatMap(words);
