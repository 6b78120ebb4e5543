/** The link that a first start prints beside the credentials: the administrator's way into the portal, by a password of its own. */
import { invitationUrl } from '../access/invitations.ts';
import type { Composed } from '../compose.ts';
import { SERVICE } from '../resources/acting.ts';

type FirstStart = Pick<Composed, 'store' | 'services' | 'firstCredentials'>;

/**
 * Takes the place of an earlier one, so that a start which was cut short before it was read leaves no second link. null where
 * this is no first start, or its administrator has been taken away or switched off meanwhile.
 */
export async function inviteFirstAdministrator(
  { store, services, firstCredentials }: FirstStart,
  publicUrl: string,
): Promise<string | null> {
  if (firstCredentials === null) return null;
  const administrator = await store.users.getByName(firstCredentials.adminUserName);
  if (administrator?.active !== true) return null;
  const { token } = await services.invitations.invite(administrator.id, SERVICE);
  return invitationUrl(publicUrl, token);
}
