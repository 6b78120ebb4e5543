/** The commands that there are. A group's code is loaded when it is needed, so that `sallyport version` answers at once. */
import type { CommandGroup } from './command.ts';

export type GroupEntry = {
  readonly name: string;
  readonly summary: string;
  load(): Promise<CommandGroup>;
};

export const GROUPS: readonly GroupEntry[] = [
  {
    name: 'serve',
    summary: 'Run the service',
    load: async () => (await import('./serve.ts')).serveCommands,
  },
  {
    name: 'init',
    summary: 'Make the data folder and the first credentials',
    load: async () => (await import('./init.ts')).initCommands,
  },
  {
    name: 'application',
    summary: 'Manage applications and their client credentials',
    load: async () => (await import('./application.ts')).applicationCommands,
  },
  {
    name: 'user',
    summary: 'Manage the users that applications act as and people sign in as',
    load: async () => (await import('./user.ts')).userCommands,
  },
  {
    name: 'product',
    summary: 'Manage the API catalogue, and say who may call what',
    load: async () => (await import('./product.ts')).productCommands,
  },
  {
    name: 'endpoint',
    summary: 'Manage the endpoints that webhooks send to',
    load: async () => (await import('./endpoint.ts')).endpointCommands,
  },
  {
    name: 'key',
    summary: 'Manage the PGP keys that deliveries are encrypted for',
    load: async () => (await import('./key.ts')).keyCommands,
  },
  {
    name: 'webhook',
    summary: 'Manage webhooks: which events go where; start, stop, test and replay',
    load: async () => (await import('./webhook.ts')).webhookCommands,
  },
  {
    name: 'event-type',
    summary: 'Manage the kinds of event that webhooks subscribe to',
    load: async () => (await import('./event-type.ts')).eventTypeCommands,
  },
  {
    name: 'event',
    summary: 'Publish and erase events',
    load: async () => (await import('./event.ts')).eventCommands,
  },
  {
    name: 'deliveries',
    summary: 'List, show and replay deliveries',
    load: async () => (await import('./deliveries.ts')).deliveryCommands,
  },
  {
    name: 'audit',
    summary: 'Check that no entry of the audit log was changed or removed',
    load: async () => (await import('./audit.ts')).auditCommands,
  },
  {
    name: 'backup',
    summary: 'Write a backup of the database while it is in use',
    load: async () => (await import('./backup.ts')).backupCommands,
  },
  {
    name: 'restore',
    summary: 'Bring a backup back into the data folder',
    load: async () => (await import('./restore.ts')).restoreCommands,
  },
  {
    name: 'rotate-master-key',
    summary: 'Replace the key that secrets are sealed under',
    load: async () => (await import('./rotate-master-key.ts')).rotateMasterKeyCommands,
  },
  {
    name: 'listen',
    summary: 'Receive deliveries in development and show each one',
    load: async () => (await import('./listen.ts')).listenCommands,
  },
  {
    name: 'doctor',
    summary: 'Check the data folder and the settings',
    load: async () => (await import('./doctor.ts')).doctorCommands,
  },
  {
    name: 'version',
    summary: 'Print the version',
    load: async () => (await import('./version.ts')).versionCommands,
  },
];

/** What scripts may still type that were written for names of before, and what they mean by it. */
export const FORMER_NAMES: ReadonlyMap<string, string> = new Map([
  ['event types', 'event-type list'],
  ['event type-create', 'event-type create'],
]);
