import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { signatureOf } from '../../src/webhooks/signature-schema.ts';
import { signingKey } from '../../src/wire/payload.ts';
import {
  compileTemplate,
  contentProblem,
  templateWarnings,
  textKey,
  valueProblem,
} from '../../src/wire/signature-template.ts';

type Vector = {
  readonly name: string;
  readonly template: Parameters<typeof signatureOf>[0];
  readonly secrets: readonly [string, ...string[]];
  readonly timestamp: number;
  readonly id: string;
  readonly url: string;
  readonly bodyBase64: string;
  readonly signedBase64: string;
  readonly headers: Readonly<Record<string, string>>;
};

const file = new URL('../vectors/templates.json', import.meta.url);
const { templates: vectors } = JSON.parse(readFileSync(file, 'utf8')) as { readonly templates: readonly Vector[] };

const SECRET = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const MESSAGE = {
  body: Buffer.from('{"a":"é"}'),
  at: 1_795_237_200_999,
  id: 'msg_1',
  url: new URL('https://hooks.example.com/in?a=1'),
};

describe('a signature template', () => {
  for (const { name, template, secrets, timestamp, id, url, bodyBase64, signedBase64, headers } of vectors) {
    it(`makes the vector “${name}”`, () => {
      const whole = signatureOf(template);
      const keyFor = whole.key === 'decoded' ? signingKey : textKey;
      const [active, ...others] = secrets;
      const message = { body: Buffer.from(bodyBase64, 'base64'), at: timestamp * 1000 + 999, id, url: new URL(url) };
      const made = compileTemplate(whole)(message, [keyFor(active), ...others.map(keyFor)]);
      assert.deepEqual(made.headers, headers);
      const signed = Buffer.concat(made.signed.map((part) => Buffer.from(part)));
      assert.equal(signed.toString('base64'), signedBase64);
    });
  }

  it('signs as node:crypto does, for each preset', () => {
    const hex = (text: string): string => createHmac('sha256', SECRET).update(text).digest('hex');
    const body = MESSAGE.body.toString();
    const wanted = {
      github: { 'X-Hub-Signature-256': `sha256=${hex(body)}` },
      stripe: { 'Stripe-Signature': `t=1795237200,v1=${hex(`1795237200.${body}`)}` },
      shopify: { 'X-Shopify-Hmac-Sha256': createHmac('sha256', SECRET).update(body).digest('base64') },
      slack: {
        'X-Slack-Signature': `v0=${hex(`v0:1795237200:${body}`)}`,
        'X-Slack-Request-Timestamp': '1795237200',
      },
    } as const;
    for (const preset of ['github', 'stripe', 'shopify', 'slack'] as const) {
      const { headers } = compileTemplate(signatureOf({ preset }))(MESSAGE, [textKey(SECRET)]);
      assert.deepEqual(headers, wanted[preset], preset);
    }
  });

  const contents: readonly (readonly [content: string, problem: RegExp | null])[] = [
    ['{body}', null],
    ['{timestamp}.{id}.{url}.{path}.{body}', null],
    ['{timestamp}', null],
    ['constant', /must have a place-holder/],
    ['', /must have a place-holder/],
    ['{Body}', /unknown place-holder \{Body\}/],
    ['{ body }', /unknown place-holder/],
    ['{}', /unknown place-holder \{\}/],
    ['{signature}.{body}', /unknown place-holder \{signature\}/],
    ['{{body}}', /brace outside/],
    ['{body', /brace outside|must have/],
    ['body}{body}', /brace outside/],
    ['POST\n/in\n{body}', null],
    ['POST\n{path}\n{timestamp}\n{body}', null],
    ['POST{url}{body}{timestamp}', null],
    ['POST\n{path}\ntreBg{path}Tr4=;Sat, 21 Nov 2026 05:00:00 GMT', /reads like a delivery/],
    ['POST\n/in\n{timestamp}{body}', /reads like a delivery/],
  ];
  for (const [content, problem] of contents) {
    it(`${problem === null ? 'signs' : 'does not sign'} ${JSON.stringify(content)}`, () => {
      const found = contentProblem(content);
      if (problem === null) assert.equal(found, null);
      else assert.match(String(found), problem);
    });
  }

  const values: readonly (readonly [value: string, problem: RegExp | null])[] = [
    ['{signature}', null],
    ['t={timestamp}, id={id}, v1={signature}', null],
    ['sha256=', /\{signature\} once/],
    ['{signature}{signature}', /\{signature\} once/],
    ['{body}{signature}', /unknown place-holder \{body\}/],
    ['{sig}', /unknown place-holder \{sig\}/],
    [' {signature}', /visible ASCII/],
    ['v1={signature}\r\nX-Other: 1', /visible ASCII/],
    ['é{signature}', /visible ASCII/],
  ];
  for (const [value, problem] of values) {
    it(`${problem === null ? 'sends' : 'does not send'} ${JSON.stringify(value)}`, () => {
      const found = valueProblem(value);
      if (problem === null) assert.equal(found, null);
      else assert.match(String(found), problem);
    });
  }

  it('warns of sha1 and of content without a body', () => {
    assert.deepEqual(templateWarnings(signatureOf({ preset: 'github' })), []);
    const weak = templateWarnings(signatureOf({ header: 'X-Sig', algorithm: 'sha1', content: '{timestamp}' }));
    assert.deepEqual(
      weak.map((text) => text.split(' ')[0]),
      ['sha1', 'content'],
    );
  });

  it('renders what its parts are, for any literal text between place-holders', () => {
    const literal = fc.string({ unit: 'grapheme-ascii', maxLength: 8 }).map((text) => text.replaceAll(/[{}]/g, ''));
    const holder = fc.constantFrom('body', 'timestamp', 'id', 'url', 'path');
    const filled: Readonly<Record<string, string>> = {
      body: MESSAGE.body.toString(),
      timestamp: '1795237200',
      id: 'msg_1',
      url: MESSAGE.url.href,
      path: '/in?a=1',
    };
    const part = fc.tuple(literal, holder);
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), literal, (parts, end) => {
        const content = `${parts.map(([text, name]) => `${text}{${name}}`).join('')}${end}`;
        assert.equal(contentProblem(content), null);
        const sign = compileTemplate(signatureOf({ header: 'X-Sig', value: '{signature}', content }));
        const { headers, signed } = sign(MESSAGE, [textKey(SECRET)]);
        const text = `${parts.map(([before, name]) => before + filled[name]).join('')}${end}`;
        assert.equal(Buffer.concat(signed.map((one) => Buffer.from(one))).toString(), text);
        assert.equal(headers['X-Sig'], createHmac('sha256', SECRET).update(text).digest('hex'));
      }),
      { numRuns: 100 },
    );
  });
});
