/** When two user names are the same one. */

/**
 * Equal for names that differ only in case, in width, or in how their characters are composed (NFKC and case folding, as contract §4 says).
 * Upper case in between turns `ß` into `ss`, as full case folding does.
 */
export function userNameKey(userName: string): string {
  return userName.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
}
