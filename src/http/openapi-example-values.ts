/** What the examples of the OpenAPI document share. */

export const AT = '2026-11-21T05:00:00.000Z';
export const LATER = '2026-11-21T06:00:00.000Z';

export const stamps: { readonly createdAt: string; readonly updatedAt: string } = { createdAt: AT, updatedAt: AT };

/** A UUIDv7 of that moment. */
export function id(number: number): string {
  return `01a1fc79-c080-7000-8000-${String(number).padStart(12, '0')}`;
}
