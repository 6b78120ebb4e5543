/** Parts of URLs that the URL standard reads too generously, or not at all. */

/**
 * The URL standard lets a host have characters such as `*`, `;`, `,` and `'`, which mean something else in a Content-Security-Policy
 * (CSP 3 §2.3): `https://*` would be every host.
 */
const ORIGIN = /^https?:\/\/(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/**
 * The origin of a URL, such as `https://shop.example:8443`, for a response header; null if its host has other characters than letters,
 * digits, `.`, `-`, `_`.
 */
export function originOf({ origin }: URL): string | null {
  return ORIGIN.test(origin) ? origin : null;
}

/** Of the URL of a PostgreSQL database. */
type DatabaseUrlParts = {
  /** `user:password` */
  readonly credentials: string;
  /** `one:5432,two` */
  readonly hosts: string;
  readonly database: string;
  readonly query: string;
};

/**
 * As in libpq, credentials end before the first slash or question mark, so parameters may have an `@`. Where credentials have several, the
 * last one ends them. An `@` after the hosts is refused, also in the name of the first parameter: a slash or question mark of the password
 * was not encoded.
 */
const DATABASE_URL =
  /^postgres(?:ql)?:\/\/(?:(?<credentials>[^/?]*)@)?(?<hosts>[^/?@]*)(?:\/(?<database>[^?@]*))?(?:\?(?![^=&]*@)(?<query>.*))?$/s;

/** The parts of a URL (PostgreSQL, "Connection URIs"), encoded as they are, or null if it is none. */
export function databaseUrlParts(url: string): DatabaseUrlParts | null {
  const groups = DATABASE_URL.exec(url)?.groups;
  if (groups === undefined) return null;
  const { credentials = '', hosts = '', database = '', query = '' } = groups;
  return { credentials, hosts, database, query };
}
