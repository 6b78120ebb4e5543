/** Reasons as refusals and outcomes word them, made sentences of their own. */

/** Begins large and ends with a full stop, unless it has an end already. Names of headers, which it may begin with, stay as they are. */
export function sentence(text: string): string {
  const first = /^x-/.test(text) ? 'x' : text.slice(0, 1).toUpperCase();
  return `${first}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}
