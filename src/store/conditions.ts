/** What a list shows, and in which order. */
/** What a list is filtered by: all that is given has to fit. */
export type Filter = Readonly<Record<string, string>>;

/** By a field, or from its other end. Items of equal value are in the order of their ids. */
export type Sort = { readonly by: string; readonly descending: boolean };

/** Of the last item of a page: the value that it was sorted by, and its id. */
export type Place = { readonly value: string | number; readonly id: string };

/** Where a page begins: behind an id, in order of creation (the empty text is before all), or behind a place in another order. */
export type After = string | { readonly sort: Sort; readonly place: Place | null };
