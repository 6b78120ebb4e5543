/** Where the page of a published event is (`{path}/{id}`), for the pages that link to it. */
export const EVENTS_PATH = '/events';
