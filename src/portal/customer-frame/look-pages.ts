/** `/settings/customers-portal`: name, logo and accent colour of the customers' portal, and how to show it in a frame. */

import { changesBetween } from '../../domain/audit.ts';
import {
  accentNote,
  NO_THEME,
  type PortalTheme,
  readTheme,
  shadesOf,
  THEME_LOGO_BYTES,
} from '../../domain/portal-theme.ts';
import { type Html, html } from '../../http/html.ts';
import { refuseChanged } from '../../resources/entity-tag.ts';
import { retryStale } from '../../store/port/errors.ts';
import { type PageCall, redirectTo, type View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { brandMark } from '../parts/brand.ts';
import { codeBlock, definitionList } from '../parts/details.ts';
import { type FormState, newForm } from '../parts/fields.ts';
import { fieldGroup, form } from '../parts/form.ts';
import { pageHeader, section } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import { lines, text, titlesOf } from '../record/field-table.ts';
import { recordForm } from '../record/record-form.ts';
import { EMBED_PATH, embedIntegrity } from './embedding.ts';

const PATH = '/settings/customers-portal';

export function lookPages(dependencies: PageDependencies): PageRoute<'operator'>[] {
  const { pages, store, ids, clock } = dependencies;
  const current = async (): Promise<PortalTheme> => (await store.settings.portalTheme()) ?? NO_THEME;
  const look = recordForm<PortalTheme>({
    administration: { get: current, shown: (theme) => theme },
    fill: (theme) => newForm({ ...theme }),
    view: (call, theme, state) => lookView(dependencies, call, theme, state),
    respond: (call) =>
      retryStale(async () => {
        const stored = await store.settings.portalTheme();
        const before = stored ?? NO_THEME;
        refuseChanged(call.acting.ifMatch, before, 'look');
        const value = (name: string): string => call.form.get(name) ?? '';
        const theme = readTheme({ name: value('name'), logo: value('logo'), accent: value('accent') });
        const changes = changesBetween(audited(before), audited(theme));
        if (Object.keys(changes).length > 0) {
          const { actor } = call.acting;
          const change = { action: 'portal.update', target: 'portal:customers', customerId: null, changes } as const;
          await store.settings.putPortalTheme(theme, stored, { id: ids.uuid(), at: clock(), actor, ...change });
        }
        const note = theme.accent === null ? null : accentNote(theme.accent);
        return redirectTo(PATH, `The look is saved.${note === null ? '' : ` ${note}`}`);
      }),
    compared: (fields) => Object.fromEntries(Object.keys(LOOK_FIELDS).map((name) => [name, fields.get(name)])),
  });
  const { show, ...sent } = look;
  return [
    pages.view(PATH, 'operator', show),
    pages.page({ for: 'operator', ...sent, method: 'POST', path: PATH, role: 'administrator' }),
  ];
}

/** The log keeps that the logo changed, and not every logo. */
function audited({ name, logo, accent }: PortalTheme): Readonly<Record<string, unknown>> {
  return { name, logo: logo === null ? null : `${logo.length} characters, ending in ${logo.slice(-12)}`, accent };
}

const LOOK_FIELDS = {
  name: text({
    label: 'Your name',
    placeholder: 'Acme',
    hint: 'In the title and the head of the portal, and in its audit log for what your people do.',
  }),
  logo: lines({
    label: 'Logo',
    rows: 5,
    isCode: true,
    placeholder: '<svg xmlns="http://www.w3.org/2000/svg" …',
    takesFile: '.svg,.png',
    hint:
      `An SVG or PNG picture of at most ${THEME_LOGO_BYTES / 1024} KiB, shown 28 pixels high in place of your ` +
      'name. It must be readable on light and on dark.',
  }),
  accent: text({
    label: 'Accent colour',
    isCode: true,
    placeholder: '#4353c8',
    hint: 'For links, buttons and the current page. It is made darker or lighter where text in it would be hard to read.',
  }),
};

function lookView({ config, publicUrl }: PageDependencies, call: PageCall, theme: PortalTheme, state: FormState): View {
  const title = 'Customers’ portal';
  const fields = html`${fieldGroup('Look', null, [
    LOOK_FIELDS.name.draw(state, 'name'),
    LOOK_FIELDS.logo.draw(state, 'logo'),
    LOOK_FIELDS.accent.draw(state, 'accent'),
  ])}`;
  const editor = call.may('administrator')
    ? form({
        action: PATH,
        csrf: call.csrf,
        form: state,
        content: fields,
        submit: 'Save',
        labels: titlesOf(LOOK_FIELDS),
      })
    : null;
  const content = html`
    ${pageHeader({
      title,
      crumbs: [{ href: '/settings', label: 'Settings' }],
      lead: 'What your customers see around their endpoints and webhooks. It does not mention Sallyport.',
    })}
    ${current(theme)}
    ${editor}
    ${framing(config.portalFrameAncestors, publicUrl())}
  `;
  return { title, content };
}

function current(theme: PortalTheme): Html {
  const { accent } = theme;
  const note = accent === null ? null : accentNote(accent);
  return section({
    title: 'As it is',
    content: html`
      <p class="brand look-brand">${brandMark(theme)}</p>
      ${note === null ? null : notice({ tone: 'info', text: note })}
      ${definitionList([
        ['Accent', accent === null ? 'the portal’s own' : html`<code>${accent}</code>`],
        ...(accent === null
          ? []
          : ([
              ['On light', html`<code>${shadesOf(accent, 'light').accent}</code>`],
              ['On dark', html`<code>${shadesOf(accent, 'dark').accent}</code>`],
            ] as const)),
      ])}
    `,
  });
}

function framing(ancestors: readonly string[], publicUrl: string | null): Html {
  const origin = publicUrl ?? 'https://…';
  const code = `<div id="webhooks"></div>
<script src="${origin}${EMBED_PATH}" integrity="${embedIntegrity()}" crossorigin="anonymous"></script>
<script>
  Sallyport.embed(document.getElementById('webhooks'), link);
</script>`;
  return section({
    title: 'In a frame of your product',
    lead: html`${
      ancestors.length === 0
        ? html`No page may show it in a frame yet. Name the origins in <code>SALLYPORT_PORTAL_FRAME_ANCESTORS</code>.`
        : html`
          These origins may show it: ${ancestors.map((one, at) => html`${at === 0 ? '' : ', '}<code>${one}</code>`)}.
        `
    }`,
    content: codeBlock({ code, label: 'In your page, with a portal link that your server has just made' }),
  });
}
