/** The address of the sign-in page of a customer. No other page leads its users there. */
import type { Html } from '../../http/html.ts';
import { signInPathOf } from '../frame/request-context.ts';
import { copyable } from '../parts/details.ts';

/** A row of a list of facts. None while the address of the service is unknown. */
export function signInFact(customerId: string, address: string | null): (readonly [string, Html, string])[] {
  const copy = signInAddress(customerId, address);
  return copy === null ? [] : [['Sign-in page', copy, HINT]];
}

const HINT = 'Its users sign in here, and nobody else.';

/** With a button that copies it. Null while the address of the service is unknown. */
export function signInAddress(customerId: string, address: string | null): Html | null {
  return address === null ? null : copyable(address + signInPathOf(customerId), 'address of the sign-in page');
}
