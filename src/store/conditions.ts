/** The WHERE of a list that people filter. */
/** What a list is filtered by: all that is given has to fit. */
export type Filter = Readonly<Record<string, string>>;
