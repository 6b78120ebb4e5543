/** The files that pages around the customers' portal load: the script that makes the frame, and the stylesheet of the accent colour. */
import { createHash } from 'node:crypto';
import { accentStyle, accentVersion } from '../../domain/portal-theme.ts';
import type { Route } from '../../http/route.ts';
import { readAsset } from '../../kernel/assets.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { assetRoute } from '../frame/asset-routes.ts';
import { ACCENT_STYLES } from '../parts/brand.ts';

/** Never changes: a script that pages load with an integrity hash only changes together with its path. */
export const EMBED_PATH = '/embed/v1.js';

/** The value of `integrity` in a page that loads the script (Subresource Integrity). */
export function embedIntegrity(): string {
  return `sha384-${createHash('sha384').update(readAsset('portal/embed.js')).digest('base64')}`;
}

/** For pages of every origin: it holds no secret, and an integrity check requires CORS. */
export function embedRoute(): Route {
  return assetRoute(EMBED_PATH, async () => ({
    status: 200,
    headers: {
      'Content-Type': 'text/javascript;charset=UTF-8',
      'Cache-Control': 'public, max-age=86400',
      'Access-Control-Allow-Origin': '*',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    },
    body: Buffer.from(readAsset('portal/embed.js')),
  }));
}

/** The path holds the colour and the hash of the stylesheet, so every instance serves every version that a page names. */
export function accentRoute(): Route {
  return assetRoute(`${ACCENT_STYLES}/{version}`, async ({ params }) => {
    const [, version, colour] = /^(([0-9a-f]{6})-[0-9a-f]{16})\.css$/.exec(params.version ?? '') ?? [];
    const accent = `#${colour}`;
    if (version === undefined || accentVersion(accent) !== version)
      throw new Refusal('not_found', 'there is no such stylesheet');
    return {
      status: 200,
      headers: {
        'Content-Type': 'text/css;charset=UTF-8',
        'Cache-Control': 'public, max-age=31536000, immutable',
        'Cross-Origin-Resource-Policy': 'same-origin',
      },
      body: Buffer.from(accentStyle(accent)),
    };
  });
}
