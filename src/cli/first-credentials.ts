/** How a first start shows a person what to sign in with. */
import type { FirstCredentials } from '../data-folder.ts';
import { recordText } from './output.ts';

export function firstCredentialsText({ dataDir, ...credentials }: FirstCredentials): string {
  return `Everything is kept in ${dataDir}. These credentials are shown this once:

${recordText({
  administrator: credentials.adminUserName,
  password: credentials.adminPassword,
  'client id': credentials.clientId,
  'client secret': credentials.clientSecret,
})}`;
}
