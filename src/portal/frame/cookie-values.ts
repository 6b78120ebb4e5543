/** Values that requests carry in cookies. */

/** The value of a cookie of one request, by its name without the prefix. */
export type ReadCookie = (name: string) => string | null;

/** A message for the next page. */
export type Flash = { readonly tone: 'positive' | 'negative'; readonly text: string };
