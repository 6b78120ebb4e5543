/** Receivers that are programs of their own: two of SDKs in other languages, and three servers that others run as they are. */
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../test/support/free-port.ts';
import { npmModules } from '../../../test/support/npm-tools.ts';
import { pythonOfReceivers } from '../../../test/support/python-tools.ts';
import { idOfRecords } from './libraries.ts';
import { startProgram } from './program.ts';
import type { Ground, OtherReceiver } from './receiving.ts';

const tools = fileURLToPath(new URL('../../../test/tools/other-receivers', import.meta.url));

/** Requests a minute. */
const ALLOWED_RATE = 600;

const STANDARD_WEBHOOKS: OtherReceiver = {
  name: 'standardwebhooks',
  title: 'Standard Webhooks library for Python',
  package: 'PyPI standardwebhooks',
  programs: ['python3'],
  start: async ({ folder, certificateFile, keyFile, secret }) => {
    const file = join(tools, 'standard_webhooks_receiver.py');
    const args = ['-u', file, certificateFile, keyFile, `whsec_${secret}`];
    const running = await startProgram({ program: pythonOfReceivers(), args, cwd: folder, ready: LISTENING });
    return {
      url: `https://127.0.0.1:${running.first[1]}/`,
      webhook: { standardWebhooks: true },
      verified: async (eventId) => {
        const [, line = ''] = await running.printed(/^verified (.*)$/m);
        const { id, payload } = JSON.parse(line) as { readonly id: string; readonly payload: unknown };
        same(idOfRecords(JSON.stringify(payload)), eventId);
        return `webhook-signature of ${id}`;
      },
      stop: running.stop,
    };
  },
};

const CLOUDEVENTS_GO: OtherReceiver = {
  name: 'cloudevents-go',
  title: 'CloudEvents SDK for Go',
  package: 'Go cloudevents/sdk-go/v2',
  programs: ['go'],
  start: async ({ folder, certificateFile, keyFile, requestOrigin }) => {
    const program = join(folder, 'receiver');
    execFileSync('go', ['build', '-mod=readonly', '-o', program, '.'], { cwd: tools, stdio: 'pipe' });
    const args = [certificateFile, keyFile, requestOrigin, String(ALLOWED_RATE)];
    const running = await startProgram({ program, args, cwd: folder, ready: LISTENING });
    return {
      url: `https://127.0.0.1:${running.first[1]}/`,
      endpoint: { verification: 'cloudevents' },
      webhook: { format: 'cloudevents-binary' },
      verified: async (eventId) => {
        const [, line = ''] = await running.printed(/^event (.*)$/m);
        const { id, type } = JSON.parse(line) as { readonly id: string; readonly type: string };
        same(id, eventId);
        return `the handshake, then ${type} in binary mode`;
      },
      stop: running.stop,
    };
  },
};

const WEBHOOK: OtherReceiver = {
  name: 'webhook',
  title: 'webhook with an HMAC rule',
  package: 'Debian webhook',
  programs: ['webhook'],
  start: async ({ folder, certificateFile, keyFile, secret }) => {
    const port = await freePort();
    const signed = { type: 'payload-hmac-sha256', secret, parameter: { source: 'header', name: 'X-Signature' } };
    const hook = {
      id: 'order',
      'execute-command': '/bin/echo',
      'pass-arguments-to-command': [
        { source: 'header', name: 'Webhook-Id' },
        { source: 'payload', name: 'type' },
      ],
      'trigger-rule': { match: signed },
      'trigger-rule-mismatch-http-response-code': 401,
    };
    const hooks = join(folder, 'hooks.json');
    writeFileSync(hooks, JSON.stringify([hook]));
    const tls = ['-secure', '-cert', certificateFile, '-key', keyFile];
    const args = ['-hooks', hooks, '-ip', '127.0.0.1', '-port', String(port), '-verbose', ...tls];
    const running = await startProgram({ program: 'webhook', args, cwd: folder, ready: /serving hooks on/ });
    return {
      url: `https://127.0.0.1:${port}/hooks/order`,
      webhook: { format: 'standard', signature: { header: 'X-Signature', value: 'sha256={signature}' } },
      verified: async (eventId) => {
        const [, id = '', type] = await running.printed(/command output: (\S+) (\S+)/);
        same(id, eventId);
        return `X-Signature, and ran its command for ${type}`;
      },
      stop: running.stop,
    };
  },
};

const NGINX: OtherReceiver = {
  name: 'nginx',
  title: 'nginx with auth_basic',
  package: 'Debian nginx-light',
  programs: ['nginx'],
  start: async ({ folder, certificateFile, keyFile, secret }) => {
    const port = await freePort();
    const salt = randomBytes(8);
    const hash = createHash('sha1').update(secret).update(salt).digest();
    writeFileSync(join(folder, 'users'), `sallyport:{SSHA}${Buffer.concat([hash, salt]).toString('base64')}\n`);
    const behind = await startBehind(join(folder, 'behind'));
    writeFileSync(join(folder, 'nginx.conf'), nginxConfiguration({ folder, certificateFile, keyFile, port }));
    const args = ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')];
    const running = await startProgram({ program: 'nginx', args, cwd: folder, ready: /start worker process \d/ });
    return {
      url: `https://127.0.0.1:${port}/`,
      endpoint: { authentication: { method: 'basic', userName: 'sallyport', password: secret }, sendApiKey: false },
      webhook: { format: 'cloudevents-binary' },
      verified: async (eventId) => {
        const headers = await behind.passed;
        same(String(headers['ce-id']), eventId);
        return `Authorization: Basic of ${headers['x-remote-user']}, and let ${headers['ce-type']} pass`;
      },
      stop: async () => {
        await running.stop();
        behind.close();
      },
    };
  },
};

type NginxFiles = Pick<Ground, 'folder' | 'certificateFile' | 'keyFile'> & { readonly port: number };

function nginxConfiguration({ folder, certificateFile, keyFile, port }: NginxFiles): string {
  // As root, the workers would run as a user that cannot access the folder.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  return `${user}
daemon off;
pid pid;
error_log stderr notice;
events {}
http {
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  access_log off;
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${certificateFile};
    ssl_certificate_key ${keyFile};
    location / {
      auth_basic hooks;
      auth_basic_user_file ${join(folder, 'users')};
      proxy_set_header X-Remote-User $remote_user;
      proxy_pass http://unix:${join(folder, 'behind')};
    }
  }
}
`;
}

/** The server behind nginx, which checks nothing. `passed`: the headers of the first request that comes through. */
async function startBehind(socket: string): Promise<{ passed: Promise<IncomingHttpHeaders>; close(): void }> {
  let pass: (headers: IncomingHttpHeaders) => void = () => {};
  const passed = new Promise<IncomingHttpHeaders>((resolve) => {
    pass = resolve;
  });
  const server = createServer((request, response) => {
    pass(request.headers);
    request.resume().on('end', () => response.writeHead(204).end());
  });
  await new Promise<void>((listening) => server.listen(socket, listening));
  return { passed, close: () => void server.close().closeAllConnections() };
}

const NODE_RED: OtherReceiver = {
  name: 'node-red',
  title: 'Node-RED with a token in a header',
  package: 'npm node-red',
  programs: [],
  start: async ({ folder, certificateFile, keyFile, secret }) => {
    const port = await freePort();
    const settings = `const { readFileSync } = require('node:fs');
module.exports = {
  uiHost: '127.0.0.1', uiPort: ${port}, httpAdminRoot: false, flowFile: 'flows.json', userDir: __dirname,
  credentialSecret: 'none', telemetry: { enabled: false },
  https: { cert: readFileSync(${JSON.stringify(certificateFile)}), key: readFileSync(${JSON.stringify(keyFile)}) },
};
`;
    const rules = [{ t: 'eq', v: secret, vt: 'str' }, { t: 'else' }];
    const flows = [
      { id: 'tab', type: 'tab', label: 'hooks' },
      { id: 'in', type: 'http in', z: 'tab', url: '/hook', method: 'post', wires: [['token']] },
      {
        id: 'token',
        type: 'switch',
        z: 'tab',
        property: 'req.headers.x-token',
        propertyType: 'msg',
        rules,
        checkall: 'false',
        outputs: 2,
        wires: [['parse'], ['no']],
      },
      { id: 'parse', type: 'json', z: 'tab', property: 'payload', action: 'str', wires: [['show', 'yes']] },
      {
        id: 'show',
        type: 'debug',
        z: 'tab',
        active: true,
        console: true,
        tosidebar: false,
        complete: 'payload',
        targetType: 'msg',
        wires: [],
      },
      { id: 'yes', type: 'http response', z: 'tab', statusCode: '204', wires: [] },
      { id: 'no', type: 'http response', z: 'tab', statusCode: '401', wires: [] },
    ];
    writeFileSync(join(folder, 'settings.js'), settings);
    writeFileSync(join(folder, 'flows.json'), JSON.stringify(flows));
    const args = [join(npmModules('other-receivers'), 'node-red', 'red.js'), '-s', join(folder, 'settings.js')];
    const running = await startProgram({ program: process.execPath, args, cwd: folder, ready: /Started flows/ });
    return {
      url: `https://127.0.0.1:${port}/hook`,
      endpoint: { authentication: { method: 'header', name: 'X-Token', value: secret } },
      webhook: { format: 'cloudevents' },
      verified: async (eventId) => {
        const [, id = ''] = await running.printed(/"id":"([^"]+)"/);
        same(id, eventId);
        return 'X-Token, and ran its flow';
      },
      stop: running.stop,
    };
  },
};

export const PROGRAMS: readonly OtherReceiver[] = [STANDARD_WEBHOOKS, CLOUDEVENTS_GO, WEBHOOK, NGINX, NODE_RED];

const LISTENING = /^listening on port (\d+)$/m;

function same(came: string, eventId: string): void {
  if (came !== eventId) throw new Error(`another event came: ${came}`);
}
