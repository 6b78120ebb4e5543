/** The actions of the audit log in words. */
import type { AuditAction } from '../../resources/audit.ts';
import type { Choice } from '../parts/fields.ts';

const ACTIONS: Readonly<Record<AuditAction, string>> = {
  'user.create': 'Created the user',
  'user.update': 'Changed the user',
  'user.delete': 'Deleted the user',
  'user.invite': 'Invited the user',
  'user.set-password': 'Set the password',
  'user.add-passkey': 'Added a passkey',
  'user.remove-passkey': 'Removed a passkey',
  'user.refuse-passkey': 'Refused a passkey that may be a copy',
  'user.sign-in': 'Signed in',
  'user.sign-out': 'Signed out',
  'user.sign-out-everywhere': 'Signed out everywhere',
  'application.create': 'Created the application',
  'application.update': 'Changed the application',
  'application.delete': 'Deleted the application',
  'application.regenerate-secret': 'Regenerated the secret',
  'application.revoke-tokens': 'Revoked all tokens',
  'product.create': 'Created the API product',
  'product.update': 'Changed the API product',
  'product.delete': 'Deleted the API product',
  'endpoint.create': 'Created the endpoint',
  'endpoint.update': 'Changed the endpoint',
  'endpoint.delete': 'Deleted the endpoint',
  'endpoint.verify': 'Verified the endpoint',
  'endpoint.rotate-secret': 'Rotated the secret',
  'endpoint.rotate-api-key': 'Rotated the API key',
  'key.create': 'Created the key',
  'key.update': 'Changed the key',
  'key.delete': 'Deleted the key',
  'event-type.create': 'Created the event type',
  'event-type.update': 'Changed the event type',
  'event-type.delete': 'Deleted the event type',
  'webhook.create': 'Created the webhook',
  'webhook.update': 'Changed the webhook',
  'webhook.delete': 'Deleted the webhook',
  'webhook.start': 'Started the webhook',
  'webhook.stop': 'Stopped the webhook',
  'webhook.replay': 'Replayed records of the webhook',
  'delivery.replay': 'Replayed the delivery',
  'event.erase': 'Asked to erase a person’s data',
  'event.erase-done': 'Erased a person’s data',
  'backup.download': 'Downloaded a backup',
  'database.restore': 'Restored a backup',
  'master-key.rotate': 'Rotated the master key',
};

const TEXTS: ReadonlyMap<string, string> = new Map(Object.entries(ACTIONS));

/** An unknown action is shown by its name. */
export function actionText(action: string): string {
  return TEXTS.get(action) ?? action.replace('.', ': ').replaceAll('-', ' ');
}

/** The choices of the filter. `asked` is the action in the address, which may be a prefix such as `webhook.`. */
export function actionChoices(asked: string): readonly Choice[] {
  const known = [...TEXTS].map(([value, label]) => ({ value, label }));
  const other = asked === '' || TEXTS.has(asked) ? [] : [{ value: asked, label: asked }];
  return [{ value: '', label: 'Anything' }, ...other, ...known];
}
