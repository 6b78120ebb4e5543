/** Values that requests carry in cookies. */

/** The value of a cookie of one request, by its name without the prefix. */
export type ReadCookie = (name: string) => string | null;

/** A message for the next page, and where to go on. */
export type Flash = {
  readonly tone: 'positive' | 'caution' | 'negative';
  readonly text: string;
  /** `href`: a path of the portal. */
  readonly link?: { readonly href: string; readonly label: string } | undefined;
};
