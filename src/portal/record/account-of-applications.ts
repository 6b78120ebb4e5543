/** The service account that a customer's portal makes with the first application. */
import type { User } from '../../domain/user.ts';

/** A person may have the first name. */
export const ACCOUNT_NAMES: readonly string[] = ['applications', 'applications-service', 'sallyport-applications'];

export const ACCOUNT_TITLE = 'Default account';

/** `isCustomers`: for the people of the customer. */
export function accountText(isCustomers: boolean): string {
  return isCustomers
    ? 'Made with your first application. Your applications act as it, and nobody signs in with it.'
    : 'Made with the first application of this customer. Its applications act as it, and nobody signs in with it.';
}

/** Not an account that someone made for applications. */
export function isOfApplications(user: User): boolean {
  return user.customerId !== null && isNamedForApplications(user);
}

/** The same for the fields of a new user of a customer, as the audit log keeps them. */
export function isNamedForApplications({ role, userName, displayName }: Named): boolean {
  return role === 'service' && displayName === ACCOUNT_TITLE && ACCOUNT_NAMES.some((name) => name === userName);
}

type Named = { readonly role: unknown; readonly userName: unknown; readonly displayName: unknown };
