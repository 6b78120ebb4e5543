/** The look of the customers' portal: the operator's name, logo and accent colour. */
import type { Acting } from '../domain/acting.ts';
import { auditEntry, changesBetween } from '../domain/audit.ts';
import { NO_THEME, type PortalTheme } from '../domain/portal-theme.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import { refuseChanged } from '../resources/entity-tag.ts';
import { retryStale } from '../store/port/errors.ts';
import type { Store } from '../store/port/store.ts';

export type PortalLook = {
  /** `NO_THEME` until one is set. */
  get(): Promise<PortalTheme>;
  /** Throws 412 if `ifMatch` is the tag of another look. A look that changes nothing is not written. */
  set(theme: PortalTheme, acting: Acting): Promise<void>;
};

type Dependencies = { readonly store: Pick<Store, 'settings'>; readonly ids: Ids; readonly clock: Clock };

export function createPortalLook({ store: { settings }, ids, clock }: Dependencies): PortalLook {
  return {
    get: async () => (await settings.portalTheme()) ?? NO_THEME,
    set: (theme, { actor, ifMatch }) =>
      retryStale(async () => {
        const stored = await settings.portalTheme();
        const before = stored ?? NO_THEME;
        refuseChanged(ifMatch, before, 'look');
        const changes = changesBetween(audited(before), audited(theme));
        if (Object.keys(changes).length === 0) return;
        const entry = auditEntry(ids, actor, 'portal.update', 'portal:customers', { at: clock(), changes });
        await settings.putPortalTheme(theme, stored, entry);
      }),
  };
}

/** The log keeps that the logo changed, and not every logo. */
function audited({ name, logo, accent }: PortalTheme): Readonly<Record<string, unknown>> {
  return { name, logo: logo === null ? null : `${logo.length} characters, ending in ${logo.slice(-12)}`, accent };
}
