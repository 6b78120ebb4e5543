import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EgressPolicy } from '../../src/outbound/egress.ts';
import { refuseUnsafeUrl } from '../../src/webhooks/url.ts';
import { refused } from '../support/refusals.ts';
import { allowing } from '../support/transport.ts';

const NOTHING_ALLOWED: EgressPolicy = { allow: [] };

describe('the URL of an endpoint', () => {
  const fine = [
    'https://receiver.example/hook',
    'https://receiver.example',
    'https://receiver.example:8443/a/b?c=d&e=%2f',
    'https://receiver.example:443/',
    'https://receiver.example?a=b@c:0',
    'https://receiver.example./',
    'https://xn--bcher-kva.example/',
    'https://BÜCHER.example/straße',
    'https://[2606:2800:0220:0001:0248:1893:25C8:1946]/',
    'HTTPS://Receiver.Example/Hook',
    'https://bücher.example/',
    'https://93.184.216.34/',
    'https://[2606:2800:220:1:248:1893:25c8:1946]/',
    'https://localhost.example/',
    `https://receiver.example/${'x'.repeat(2048 - 25)}`,
  ];
  for (const url of fine) {
    it(`may be ${url.slice(0, 60)}`, () => assert.equal(refuseUnsafeUrl('url', url, NOTHING_ALLOWED), undefined));
  }

  const malformed: readonly [url: string, says: string][] = [
    ['', 'is not an absolute URL'],
    ['receiver.example/hook', 'is not an absolute URL'],
    ['/hook', 'is not an absolute URL'],
    ['//receiver.example/', 'is not an absolute URL'],
    ['https://', 'is not an absolute URL'],
    ['https://a b/', 'must not hold spaces'],
    ['https://receiver.example/ ', 'must not hold spaces'],
    ['\thttps://receiver.example/', 'must not hold spaces'],
    ['https://receiver.example/a\r\nb', 'must not hold spaces'],
    ['https://receiver.example/\u0000', 'must not hold spaces'],
    ['http://receiver.example/', 'must begin with https://'],
    ['ftp://receiver.example/', 'must begin with https://'],
    ['javascript:alert(1)', 'must begin with https://'],
    ['https:/receiver.example/', 'must begin with https:// and a host'],
    ['https:receiver.example', 'must begin with https:// and a host'],
    ['https:///receiver.example/', 'must begin with https:// and a host'],
    ['https:\\\\receiver.example', 'must begin with https:// and a host'],
    ['https://receiver.example\\@other.example/', 'must not hold a backslash'],
    ['https://receiver.example\\.other.example/', 'must not hold a backslash'],
    ['https://receiver.example/a\\b', 'must not hold a backslash'],
    ['https://receiver.example/\\other.example', 'must not hold a backslash'],
    ['https://@receiver.example/', 'must not hold credentials'],
    ['https://:@receiver.example/', 'must not hold credentials'],
    ['https://a@b@receiver.example/', 'must not hold credentials'],
    ['https://receiver.example:0/', 'must have a port from 1 to 65535, or none'],
    ['https://receiver.example:/', 'must have a port from 1 to 65535, or none'],
    ['https://receiver.example:0443/', 'must have a port from 1 to 65535, or none'],
    ['https://receiver.example:65536/', 'is not an absolute URL'],
    ['https://receiver.example:443:443/', 'is not an absolute URL'],
    ['https://receiver%2Eexample/', 'must have its host written as receiver.example'],
    ['https://ｒeceiver.example/', 'must have its host written as receiver.example'],
    ['https://receiver。example/', 'must have its host written as receiver.example'],
    ['https://rece\u00adiver.example/', 'must not hold spaces, control characters or invisible ones'],
    ['https://receiver.example/\u200b', 'must not hold spaces, control characters or invisible ones'],
    ['https://receiver.example/a\tb', 'must not hold spaces'],
    ['ht\ntps://receiver.example/', 'must not hold spaces'],
    ['https://93.184.55010/', 'must have its host written as 93.184.214.226'],
    ['https://1572395042/', 'must have its host written as 93.184.216.34'],
    ['https://0x5d.0xb8.0xd8.0x22/', 'must have its host written as 93.184.216.34'],
    ['https://0135.0270.0330.042/', 'must have its host written as 93.184.216.34'],
    ['https://93.184.216.34./', 'must have its host written as 93.184.216.34'],
    ['file:///etc/passwd', 'must begin with https://'],
    ['https://user@receiver.example/', 'must not hold credentials'],
    ['https://user:password@receiver.example/', 'must not hold credentials'],
    ['https://:password@receiver.example/', 'must not hold credentials'],
    ['https://receiver.example/#part', 'must not hold a fragment'],
    ['https://receiver.example/#', 'must not hold a fragment'],
    [`https://receiver.example/${'x'.repeat(2048 - 24)}`, 'must have at most 2048 characters'],
  ];
  for (const [url, says] of malformed) {
    it(`is not ${JSON.stringify(url.slice(0, 60))}`, async () => {
      await refused(() => refuseUnsafeUrl('oauth.tokenUrl', url, NOTHING_ALLOWED), {
        code: 'validation_failed',
        fields: ['oauth.tokenUrl'],
        says,
      });
    });
  }

  const notPublic = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.0.0.1.',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '198.18.0.1',
    '192.0.2.1',
    '224.0.0.1',
    '255.255.255.255',
    '0.0.0.0',
    '0',
    '[::]',
    '[::1]',
    '[fc00::1]',
    '[fe80::1]',
    '[ff02::1]',
    '[2001:db8::1]',
    '[fd00:ec2::254]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::10.0.0.1]',
    '[64:ff9b:1::a00:1]',
    '[2002:7f00:1::]',
    '[2002:a9fe:a9fe::]',
    '[2001:0:7f00:1::]',
    '[2001:0:808:808:0:0:80ff:fffe]',
    '１２７.0.0.1',
  ];
  for (const host of notPublic) {
    it(`has no host that is not public: ${host}`, async () => {
      const work = () => refuseUnsafeUrl('url', `https://${host}:8443/hook`, NOTHING_ALLOWED);
      await refused(work, {
        code: 'validation_failed',
        fields: ['url'],
        says: 'To allow it, add it to SALLYPORT_EGRESS_ALLOW and restart',
      });
    });
  }

  it('may have an address that the operator allows, but not its neighbours', async () => {
    const policy = allowing('10.1.0.0/16', '::1');
    for (const host of ['10.1.2.3', '[::1]', '[::ffff:10.1.2.3]']) refuseUnsafeUrl('url', `https://${host}/`, policy);
    for (const host of ['10.2.0.1', '[::ffff:10.2.0.1]', '127.0.0.1']) {
      await refused(() => refuseUnsafeUrl('url', `https://${host}/`, policy), {
        code: 'validation_failed',
        fields: ['url'],
      });
    }
  });
});
