import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Html, type HtmlValue, html } from '../../src/http/html.ts';

describe('a template', () => {
  it('escapes values in text and attributes', () => {
    const hostile = `"><script>alert('&')</script>`;
    const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;';
    assert.equal(html`<p title="${hostile}">${hostile}</p>`.markup, `<p title="${escaped}">${escaped}</p>`);
  });

  it('inserts results of templates unchanged, lists item by item, and nothing for null', () => {
    const items = ['<a>', 'b'].map((item) => html`<li>${item}</li>`);
    assert.equal(html`<ul>${items}</ul>${null}${7}`.markup, '<ul><li>&lt;a&gt;</li><li>b</li></ul>7');
  });

  it('does not accept objects that only look like markup', () => {
    const forged = JSON.parse('{"markup":"<script>"}') as Html;
    assert.throws(() => html`${forged}`, TypeError);
    assert.throws(() => html`${[forged]}`, TypeError);
    assert.throws(() => html`${{} as HtmlValue}`, TypeError);
  });

  it('escapes every character that could end a text or an attribute', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const { markup } = html`${text}`;
        assert.doesNotMatch(markup, /[<>"']/);
        assert.doesNotMatch(markup, /&(?!amp;|lt;|gt;|quot;|#39;)/);
      }),
    );
  });
});
