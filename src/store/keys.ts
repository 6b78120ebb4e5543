/** Customers' PGP public keys (`pgp_key`). */

import type { PgpKey } from '../webhooks/key.ts';
import type { ResourceStore } from './resource.ts';

export type KeyStore = ResourceStore<PgpKey> & { getByName(name: string): Promise<PgpKey | null> };
