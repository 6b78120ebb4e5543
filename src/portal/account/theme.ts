/** The switch between light and dark, for browsers without JavaScript. */
import { SMALL_FORM_BYTES } from '../../kernel/limits/portal.ts';
import { ownPath, redirectTo } from '../call.ts';
import { setThemeCookie } from '../cookies.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';

export function themePages({ pages }: PageDependencies): PageRoute[] {
  return [
    pages.openPage({
      method: 'POST',
      path: '/theme',
      maxBytes: SMALL_FORM_BYTES,
      respond: async ({ form }) => {
        const theme = form.get('theme');
        const chosen = theme === 'light' || theme === 'dark' ? theme : 'system';
        return { ...redirectTo(ownPath(form.get('back'))), cookies: [setThemeCookie(chosen)] };
      },
    }),
  ];
}
