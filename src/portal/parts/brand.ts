/** The look that the operator gives the customers' portal: its name, its logo, and the stylesheet of its accent colour. */
import { accentVersion, type PortalTheme } from '../../domain/portal-theme.ts';
import { type Html, html } from '../../http/html.ts';
import { icon } from './mark.ts';

/** In titles. An operator that has set no name gets the subject of the portal. */
export function brandName({ name }: PortalTheme): string {
  return name ?? 'Webhooks';
}

/** The name of a portal. Null: the operator's own. */
export function portalName(brand: PortalTheme | null): string {
  return brand === null ? 'Sallyport' : brandName(brand);
}

/** The operator in a sentence: `Back to Acme`, `changed by Acme`. */
export function operatorName({ name }: PortalTheme): string {
  return name ?? 'your provider';
}

/** Only as an `<img>`, in which an SVG can neither run nor load anything. */
export function brandMark(brand: PortalTheme): Html {
  const { logo } = brand;
  // Most logos have the name in them.
  return logo === null
    ? html`${icon('webhook')}<span>${brandName(brand)}</span>`
    : html`<img class="brand-logo" src="${logo}" alt="${brandName(brand)}">`;
}

export const ACCENT_STYLES = '/assets/accent';

export function accentPath(accent: string): string {
  return `${ACCENT_STYLES}/${accentVersion(accent)}.css`;
}
