/** A throw-away certificate authority and certificates that it issues, made with the `openssl` program. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Certificate and private key in PEM. */
export type Identity = { readonly certificate: string; readonly privateKey: string };

export type IssueOptions = {
  /**
   * DNS names and IP addresses that the certificate is for; the default is `localhost`, `127.0.0.1` and `::1`. The first is its common
   * name.
   */
  readonly names?: readonly string[];
  /** Days until it expires, or since it expired if negative. */
  readonly days?: number;
  /** Whether `names` are its subject alternative names, which is the default, or only the first is its common name. */
  readonly hasAlternatives?: boolean;
};

export type Certificates = {
  /** The authority's own certificate, in PEM. */
  readonly ca: string;
  /** A server certificate with the given options. */
  readonly server: Identity;
  /** For `names`, but signed by another authority of the same name. */
  readonly untrusted: Identity;
  /** For `names`, but expired a day ago. */
  readonly expired: Identity;
  /** Valid, but only for `elsewhere.example`. */
  readonly wrongHost: Identity;
  /** For a client, from the same authority. */
  readonly client: Identity;
  /** Issues another certificate. */
  issue(options?: IssueOptions): Identity;
  /** An intermediate authority, and the certificates that it issues, each with the intermediate's own after it. */
  intermediate(): { readonly ca: string; issue(options?: IssueOptions): Identity };
};

const DAY_MS = 86_400_000;
/** Longer than the service warns before a client certificate expires: a warning changes the endpoint. */
const DAYS = 90;

export function makeCertificates({
  names = ['localhost', '127.0.0.1', '::1'],
  days = DAYS,
}: IssueOptions = {}): Certificates {
  const authority = makeAuthority();
  const issue = (options: IssueOptions = {}): Identity => issueFrom(authority, { names, days, ...options });
  // Created on first use: each certificate takes several runs of openssl, and most tests need only the server's.
  const untrusted = once(() => issueFrom(makeAuthority(), { names, days }));
  const expired = once(() => issue({ days: -1 }));
  const wrongHost = once(() => issue({ names: ['elsewhere.example'] }));
  const client = once(() => issue({ names: ['client.example'] }));
  return {
    ca: authority.certificate,
    server: issue(),
    get untrusted() {
      return untrusted();
    },
    get expired() {
      return expired();
    },
    get wrongHost() {
      return wrongHost();
    },
    get client() {
      return client();
    },
    issue,
    intermediate: () => {
      const { certificate, privateKey } = issueFrom(authority, { names: ['Throw-away intermediate'], days }, AUTHORITY);
      const issueNext = (options: IssueOptions = {}): Identity => {
        const leaf = issueFrom({ certificate, privateKey }, { names, days, ...options });
        return { ...leaf, certificate: leaf.certificate + certificate };
      };
      return { ca: certificate, issue: issueNext };
    },
  };
}

/** Certificates with the defaults, for all tests of a process: creating them takes four runs of openssl. */
export const sharedCertificates = once(() => makeCertificates());

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function makeAuthority(): Identity {
  return inFolder((folder) => {
    openssl(
      folder,
      `req -x509 ${NEW_KEY} -keyout key -out certificate -days 365 -subj /CN=Throw-away -addext keyUsage=keyCertSign`,
    );
    return readIdentity(folder);
  });
}

const LEAF = 'basicConstraints=CA:FALSE\n';
const AUTHORITY = 'basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign\nsubjectKeyIdentifier=hash\n';

type Issued = { readonly names: readonly string[]; readonly days: number; readonly hasAlternatives?: boolean };

function issueFrom(authority: Identity, { names, days, hasAlternatives = true }: Issued, extensions = LEAF): Identity {
  return inFolder((folder) => {
    const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
    write('ca', authority.certificate);
    write('ca.key', authority.privateKey);
    write('index', '');
    const alternatives = names.map((name) => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`).join(',');
    const hasNames = extensions === LEAF && hasAlternatives;
    write('config', `${CA_CONFIG}${extensions}${hasNames ? `subjectAltName=${alternatives}\n` : ''}`);
    openssl(folder, 'req', ...NEW_KEY.split(' '), '-keyout', 'key', '-out', 'request', '-subj', `/CN=${names[0]}`);
    const until = Date.now() + days * DAY_MS;
    const dates = `-startdate ${asn1Time(Math.min(Date.now(), until) - DAY_MS)} -enddate ${asn1Time(until)}`;
    openssl(folder, `ca -batch -notext -config config -in request -out certificate ${dates}`);
    return readIdentity(folder);
  });
}

const NEW_KEY = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';

/** `openssl ca` is the only subcommand that accepts an end in the past in every version. It reads its settings from a file. */
const CA_CONFIG = `[ca]
default_ca=authority
[authority]
certificate=ca
private_key=ca.key
database=index
new_certs_dir=.
rand_serial=yes
default_md=sha256
policy=policy
x509_extensions=leaf
[policy]
commonName=supplied
[leaf]
`;

function asn1Time(at: number): string {
  return `${new Date(at).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
}

function readIdentity(folder: string): Identity {
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  return { certificate: read('certificate'), privateKey: read('key') };
}

function openssl(folder: string, command: string, ...more: readonly string[]): void {
  execFileSync('openssl', [...command.split(' '), ...more], { cwd: folder, stdio: 'pipe' });
}

function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
