/** All groups of commands. The code of a group is loaded on use, so that `sallyport version` starts fast. */
import type { GroupEntry } from './command.ts';

export const GROUPS: readonly GroupEntry[] = [
  {
    name: 'serve',
    summary: 'Run the service',
    load: async () => (await import('./serve.ts')).serveCommands,
  },
  {
    name: 'init',
    summary: 'Create the data folder and the first credentials',
    load: async () => (await import('./init.ts')).initCommands,
  },
  {
    name: 'customer',
    summary: 'Manage customers, and make links to their portals',
    load: async () => (await import('./customer.ts')).customerCommands,
  },
  {
    name: 'application',
    summary: 'Manage applications and their client credentials',
    load: async () => (await import('./application.ts')).applicationCommands,
  },
  {
    name: 'user',
    summary: 'Manage users: applications act as them, and people sign in as them',
    load: async () => (await import('./user.ts')).userCommands,
  },
  {
    name: 'product',
    summary: 'Manage the API catalogue, and show who may call what',
    load: async () => (await import('./product.ts')).productCommands,
  },
  {
    name: 'endpoint',
    summary: 'Manage the endpoints to which webhooks send',
    load: async () => (await import('./endpoint.ts')).endpointCommands,
  },
  {
    name: 'key',
    summary: 'Manage the PGP keys for which deliveries are encrypted',
    load: async () => (await import('./key.ts')).keyCommands,
  },
  {
    name: 'webhook',
    summary: 'Manage webhooks: subscribe to events, start, stop, test and replay',
    load: async () => (await import('./webhook.ts')).webhookCommands,
  },
  {
    name: 'event-type',
    summary: 'Manage the event types to which webhooks subscribe',
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
    summary: 'Back up the database while it is in use',
    load: async () => (await import('./backup.ts')).backupCommands,
  },
  {
    name: 'restore',
    summary: 'Restore a backup into the data folder',
    load: async () => (await import('./restore.ts')).restoreCommands,
  },
  {
    name: 'rotate-master-key',
    summary: 'Replace the key that encrypts the stored secrets',
    load: async () => (await import('./rotate-master-key.ts')).rotateMasterKeyCommands,
  },
  {
    name: 'migrate',
    summary: 'Migrate the schema of a PostgreSQL database to this version',
    load: async () => (await import('./database/schema.ts')).migrateCommands,
  },
  {
    name: 'instances',
    summary: 'List the instances on a PostgreSQL database',
    load: async () => (await import('./database/instances.ts')).instanceCommands,
  },
  {
    name: 'move',
    summary: 'Copy a data folder to PostgreSQL, or back',
    load: async () => (await import('./database/move.ts')).moveCommands,
  },
  {
    name: 'import',
    summary: 'Import customers, endpoints and event types of another sender',
    load: async () => (await import('./importing/import.ts')).importCommands,
  },
  {
    name: 'listen',
    summary: 'Receive deliveries in development and show each one',
    load: async () => (await import('./listen.ts')).listenCommands,
  },
  {
    name: 'doctor',
    summary: 'Check the data folder or the database, and the settings',
    load: async () => (await import('./doctor.ts')).doctorCommands,
  },
  {
    name: 'completion',
    summary: 'Print the completion script of a shell',
    load: async () => (await import('./about.ts')).completionCommands(GROUPS),
  },
  {
    name: 'version',
    summary: 'Print the version',
    load: async () => (await import('./about.ts')).versionCommands,
  },
];
