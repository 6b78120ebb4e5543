/** The fields of audited records under the names that their forms give them. */
import { fieldLabel } from '../parts/differences.ts';

/** By the kind of the record. A test holds them against the forms. Other fields have the words of their names. */
export const FIELD_LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  endpoint: { url: 'Address', tokenChallenge: 'Ownership' },
  webhook: {
    encryptionKeyName: 'Key',
    endpointId: 'Endpoint',
    maxBatchRecords: 'Events per batch',
    maxRecordsPerSecond: 'Events per second',
    ordered: 'Order',
    timeoutSeconds: 'Time-out (seconds)',
    heartbeatSeconds: 'Heartbeat (seconds)',
  },
  customer: {
    'limits.endpoints': 'Maximum endpoints',
    'limits.webhooks': 'Maximum webhooks',
    'limits.eventsPerSecond': 'Events per second',
  },
  user: { displayName: 'Name', email: 'Email address', role: 'Role' },
  application: { accessTokenValiditySeconds: 'Token lifetime (seconds)', userId: 'Acts as' },
  'event-type': { dataSchema: 'JSON Schema', encryptionRequired: 'Encryption', searchPaths: 'Found by' },
};

/** `target`: `<kind>:<id>`. */
export function fieldLabelsOf(target: string): (name: string) => string {
  const ofKind = FIELD_LABELS[target.split(':', 1)[0] ?? ''] ?? {};
  return (name) => {
    const words =
      ofKind[name] ??
      fieldLabel(name)
        .replace(/\burl\b/, 'URL')
        .replace(/\bapi\b/, 'API');
    return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
  };
}
