import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { attributes, type Html, type HtmlValue, html } from '../../src/http/html.ts';

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

  it('takes line breaks as the layout of the code', () => {
    const [value, name] = [html`<i>v</i>`, 'n'];
    const markup = html`
      <p
        class="a
 b"
        ${attributes({ id: name, hidden: true })}
        title="${name}"
      >
        Some text and
        <b>bold</b>
        words,
        ${value}
        more.
      </p>
      <ul>
        ${value}
        <li>
          ${name}
        </li>
        ${null}
      </ul>
      <br
        hidden
      />
      <textarea>${'\n'}${name}</textarea>${' '}
      <b>one</b> <b>line</b>
    `.markup;
    const text = 'Some text and <b>bold</b> words, <i>v</i> more.';
    assert.equal(
      markup,
      `<p class="a\n b" id="n" hidden title="n">${text}</p><ul><i>v</i><li>n</li></ul><br hidden/>` +
        '<textarea>\nn</textarea> <b>one</b> <b>line</b>',
    );
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
