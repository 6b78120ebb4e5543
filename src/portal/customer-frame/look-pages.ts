/** `/settings/customers-portal`: name, logo and accent colour of the customers' portal, and how to show it in a frame. */
import {
  accentNote,
  type PortalTheme,
  readTheme,
  type Scheme,
  shadesOf,
  THEME_LOGO_BYTES,
} from '../../domain/portal-theme.ts';
import { type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type PageCall, redirectTo, type View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { brandMark } from '../parts/brand.ts';
import { codeBlock } from '../parts/details.ts';
import { type FormState, newForm } from '../parts/fields.ts';
import { fieldGroup, followsForm, form } from '../parts/form.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { table } from '../parts/list.ts';
import { LOOK_FROM_CUSTOMERS, LOOK_PATH, LOOK_TITLE } from '../parts/look-place.ts';
import { icon, notice, stateBadge } from '../parts/mark.ts';
import { lines, text, titlesOf } from '../record/field-table.ts';
import { recordForm } from '../record/record-form.ts';
import { EMBED_PATH, embedIntegrity } from './embedding.ts';

const PATH = LOOK_PATH;

export function lookPages(dependencies: PageDependencies): PageRoute<'operator'>[] {
  const { pages } = dependencies;
  const { portalLook } = dependencies.services;
  const look = recordForm<PortalTheme>({
    administration: { get: portalLook.get, shown: (theme) => theme },
    fill: (theme) => newForm({ ...theme }),
    view: (call, theme, state) => lookView(dependencies, call, theme, state),
    respond: async (call) => {
      const value = (name: string): string => call.form.get(name) ?? '';
      const theme = readTheme({ name: value('name'), logo: value('logo'), accent: value('accent') });
      await portalLook.set(theme, call.acting);
      const note = theme.accent === null ? null : accentNote(theme.accent);
      return redirectTo(placeOf(call).own, `The look is saved.${note === null ? '' : ` ${note}`}`);
    },
    compared: (fields) => Object.fromEntries(Object.keys(LOOK_FIELDS).map((name) => [name, fields.get(name)])),
  });
  const { show, ...sent } = look;
  return [
    pages.view(PATH, 'operator', show),
    // What is typed changes nothing, and what cannot be a look is said beside its field when it is sent.
    pages.act(`${PATH}/preview`, 'operator', 'administrator', async ({ form }) => {
      const partial = previewOf(typedTheme(form));
      const title = 'Preview of the look';
      return { title, content: html`${pageHeader({ title })}${partial}`, partial };
    }),
    pages.act(PATH, 'operator', 'administrator', sent),
  ];
}

/** The fields of a form that can be a look; the others as if they were empty. */
function typedTheme(form: URLSearchParams): PortalTheme {
  const names = ['name', 'logo', 'accent'] as const;
  const typed = names.map((name) => {
    try {
      return readTheme({ name: '', logo: '', accent: '', [name]: form.get(name) ?? '' })[name];
    } catch (error) {
      if (error instanceof Refusal) return null;
      throw error;
    }
  });
  return { name: typed[0] ?? null, logo: typed[1] ?? null, accent: typed[2] ?? null };
}

/** The portal's own, as in tokens.css. */
const DEFAULT_ACCENT = '#4353c8';

const LOOK_FIELDS = {
  name: text({
    label: 'Your name',
    placeholder: 'Acme',
    hint: 'In the title and the head of the portal, and wherever it speaks of you. Without it, it says “your provider”.',
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
    placeholder: DEFAULT_ACCENT,
    picksColour: true,
    hint: 'For links, buttons and the current page. It is made darker or lighter where text in it would be hard to read.',
  }),
};

function lookView({ config, publicUrl }: PageDependencies, call: PageCall, theme: PortalTheme, state: FormState): View {
  const title = LOOK_TITLE;
  const { own, back, about } = placeOf(call);
  const fields = html`${fieldGroup('Name, logo and colour', null, [
    LOOK_FIELDS.name.draw(state, 'name'),
    LOOK_FIELDS.logo.draw(state, 'logo'),
    LOOK_FIELDS.accent.draw(state, 'accent'),
  ])}`;
  const frames = framing(config.portalFrameAncestors, publicUrl());
  const editor = call.may('administrator')
    ? form({
        action: own,
        csrf: call.csrf,
        form: state,
        content: html`${previewRegion(theme)}${fields}`,
        submit: 'Save',
        cancel: back.href,
        labels: titlesOf(LOOK_FIELDS),
      })
    : null;
  const content = html`
    ${pageHeader({
      title,
      crumbs: [back],
      lead:
        'What your customers see around their endpoints and webhooks. The pages show your name; the guide, requests and ' +
        'the receiver package name Sallyport.',
    })}
    ${editor ?? section({ title: 'Preview', content: previewOf(theme) })}
    <div class="look-frames">${frames}</div>
  `;
  return { title, content, about };
}

/** The address of the page for a visitor who came from there. The navigation and the way back keep to it. */
function placeOf({ query }: PageCall) {
  return query.get('from') === 'customers'
    ? { own: LOOK_FROM_CUSTOMERS, about: '/customers', back: { href: '/customers', label: 'Customers' } }
    : { own: PATH, about: PATH, back: { href: '/settings', label: 'Settings' } };
}

/** The script asks for it again while people type. */
function previewRegion(theme: PortalTheme): Html {
  const refresh = followsForm(`${PATH}/preview`, "input delay:200ms from:'closest form'");
  return html`
    <div class="look-region">
      <h2>Preview</h2>
      <div aria-live="polite"${refresh}>${previewOf(theme)}</div>
    </div>
  `;
}

/**
 * The head of the portal and the elements with the accent, on light and on dark. The script sets the
 * colours: no page has styles inline.
 */
function previewOf(theme: PortalTheme): Html {
  const { accent } = theme;
  const note = accent === null ? null : accentNote(accent);
  return html`
    <div class="stack">
      <div class="look-previews">${(['light', 'dark'] as const).map((scheme) => schemePreview(theme, scheme))}</div>
      ${note === null ? null : notice({ tone: 'info', text: note })}
    </div>
  `;
}

function schemePreview(theme: PortalTheme, scheme: Scheme): Html {
  const { accent, strong, soft, on } = shadesOf(theme.accent ?? DEFAULT_ACCENT, scheme);
  const colours = { '--accent': accent, '--accent-strong': strong, '--accent-soft': soft, '--on-accent': on };
  const shown = theme.accent === null ? {} : colours;
  return html`
    <figure class="look-figure">
      <div class="look-preview is-${scheme}" data-colours="${JSON.stringify(shown)}" aria-hidden="true" inert>
        <p class="brand">${brandMark(theme)}</p>
        ${SAMPLE_PAGE}
      </div>
      <figcaption class="hint">
        ${theme.accent === null ? 'The portal’s own colour' : html`<code>${accent}</code>`} on ${scheme}
      </figcaption>
    </figure>
  `;
}

/** A page of the portal, made small. It leads nowhere. */
const SAMPLE_PAGE = html`
  <div class="look-page">
    <ul class="look-navigation">
      <li>${icon('endpoint')}Endpoints</li>
      <li class="look-current">${icon('webhook')}Webhooks</li>
      <li>${icon('delivery')}Deliveries</li>
    </ul>
    <div class="look-main">
      <div class="look-line">
        <strong class="look-title">Webhooks</strong>
        ${linkButton({ href: PATH, label: 'New webhook', kind: 'primary' })}
      </div>
      ${table({
        caption: 'Webhooks',
        columns: [{ label: 'Name', kind: 'main' }, { label: 'State' }],
        rows: [
          [
            html`<a class="look-link" href="${PATH}">Orders</a><span class="cell-hint">order.* to Shop</span>`,
            stateBadge('running'),
          ],
        ],
      })}
    </div>
  </div>
`;

function framing(ancestors: readonly string[], publicUrl: string | null): Html {
  const title = 'In a frame of your product';
  if (ancestors.length === 0)
    return section({
      title,
      lead: 'No page may show it in a frame yet. Name the origins of your product, and restart Sallyport:',
      content: codeBlock({
        code: 'SALLYPORT_PORTAL_FRAME_ANCESTORS=https://app.example.com',
        label: 'Environment variable',
      }),
    });
  const origin = publicUrl ?? 'https://…';
  const code = `<div id="webhooks"></div>
<script src="${origin}${EMBED_PATH}" integrity="${embedIntegrity()}" crossorigin="anonymous"></script>
<script>
  Sallyport.embed(document.getElementById('webhooks'), link);
</script>`;
  return section({
    title,
    lead: html`
      These origins may show it: ${ancestors.map((one, at) => html`${at === 0 ? '' : ', '}<code>${one}</code>`)}.
    `,
    content: codeBlock({ code, label: 'In your page, with a portal link that your server has just made' }),
  });
}
