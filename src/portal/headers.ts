/** What every page of the portal says to the browser beside its text. */

/** Everything comes from here, nothing stands in the page itself: what gets into a page as markup can neither run nor style. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** With `no-referrer` a browser would send forms with `Origin: null`; other sites learn nothing with this one either. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html;charset=UTF-8',
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Referrer-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  // The same address answers a whole page or a part of it.
  Vary: 'HX-Request, Cookie, Accept-Encoding',
};
