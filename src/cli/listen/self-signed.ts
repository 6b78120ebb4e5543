/**
 * Creates a self-signed certificate without openssl, for the demo and for `sallyport listen`: X.509 v3 (RFC 5280 §4.1) in DER, with a
 * P-256 key. Trust in it covers this key only.
 */
import { generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { isIP, isIPv4 } from 'node:net';

/** Both in PEM. */
export type Identity = { readonly certificate: string; readonly privateKey: string };

const HOUR_MS = 3_600_000;

/** `names`: DNS names and IP addresses. Valid from an hour before `now` (epoch milliseconds) until `days` days after. */
export function makeCertificate(names: readonly string[], now: number, days = 1): Identity {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = sequence(set(sequence(oid(COMMON_NAME), tagged(UTF8_STRING, Buffer.from('Sallyport receiver')))));
  const body = sequence(
    tagged(0xa0, integer(Buffer.of(2))),
    // The serial number must be positive.
    integer(Buffer.concat([Buffer.of(1), randomBytes(8)])),
    sequence(oid(ECDSA_WITH_SHA256)),
    issuer,
    sequence(time(now - HOUR_MS), time(now + days * 24 * HOUR_MS)),
    issuer,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(alternativeNames(names))),
  );
  const signature = sign('sha256', body, privateKey);
  const der = sequence(body, sequence(oid(ECDSA_WITH_SHA256)), tagged(BIT_STRING, Buffer.of(0), signature));
  return {
    certificate: new X509Certificate(der).toString(),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OID = 0x06;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const SEQUENCE = 0x30;
const SET = 0x31;
/** Context-specific tags of GeneralName (RFC 5280 §4.2.1.6). */
const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;

/** 1.2.840.10045.4.3.2, 2.5.4.3 and 2.5.29.17 in DER. */
const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const COMMON_NAME = '550403';
const SUBJECT_ALT_NAME = '551d11';

function alternativeNames(names: readonly string[]): Buffer {
  const general = names.map((name) =>
    isIP(name) === 0 ? tagged(DNS_NAME, Buffer.from(name, 'ascii')) : tagged(IP_ADDRESS, addressBytes(name)),
  );
  return sequence(oid(SUBJECT_ALT_NAME), tagged(OCTET_STRING, sequence(...general)));
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  // A URL normalises every form to groups of hexadecimal digits with at most one gap.
  const { hostname } = new URL(`http://[${address}]/`);
  const [before = [], after = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const gap = Array<string>(8 - before.length - after.length).fill('0');
  return Buffer.from([...before, ...gap, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** UTCTime has two digits for the year, enough until 2049. */
function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replace(/\D/g, '').slice(2, 14);
  return tagged(UTC_TIME, Buffer.from(`${digits}Z`));
}

function integer(bytes: Buffer): Buffer {
  return tagged(INTEGER, bytes);
}

function oid(hex: string): Buffer {
  return tagged(OID, Buffer.from(hex, 'hex'));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(SEQUENCE, ...parts);
}

function set(...parts: readonly Buffer[]): Buffer {
  return tagged(SET, ...parts);
}

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag), length(content.length), content]);
}

/** One byte below 128, else the number of length bytes and the bytes (X.690 §8.1.3). */
function length(size: number): Buffer {
  if (size < 0x80) return Buffer.of(size);
  return size < 0x100 ? Buffer.of(0x81, size) : Buffer.of(0x82, size >> 8, size & 0xff);
}
