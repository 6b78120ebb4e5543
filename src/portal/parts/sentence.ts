/** Makes a sentence of the reason of a refusal or an outcome. */

/** Begins with a capital letter and ends with a full stop. A header name at the beginning stays as it is. */
export function sentence(text: string): string {
  const first = /^x-/.test(text) ? 'x' : text.slice(0, 1).toUpperCase();
  return `${first}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}
