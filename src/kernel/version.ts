/** The version of this program, as it names itself to receivers and operators. A test holds it to package.json. */
export const VERSION = '0.1.0';
export const USER_AGENT = `Sallyport/${VERSION}`;
