/** How a first start shows a person what to sign in with. */
import type { FirstCredentials } from '../data/data-folder.ts';
import { INVITATION_MS } from '../kernel/limits/limits.ts';
import { recordText } from './output.ts';

/** `invitation` is the link by which the administrator sets a password, where there is one. */
export function firstCredentialsText({ dataDir, ...credentials }: FirstCredentials, invitation: string | null): string {
  return `Everything is kept in ${dataDir}. These credentials are shown this once:

${recordText({
  administrator: credentials.adminUserName,
  password: credentials.adminPassword,
  'client id': credentials.clientId,
  'client secret': credentials.clientSecret,
})}${invitation === null ? '' : invitationText(invitation)}`;
}

function invitationText(invitation: string): string {
  return `
Open this link to choose a password of your own, and sign in to the portal. It is good once, and for ${INVITATION_MS / 3_600_000} hours:

  ${invitation}
`;
}
