/** The version of this program. A test compares it with package.json. */
export const VERSION = '0.1.0';
export const USER_AGENT = `Sallyport/${VERSION}`;
