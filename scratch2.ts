import { createSallyport } from './src/sallyport.ts';
import { readConfig } from './src/config.ts';
import { rmSync } from 'node:fs';
rmSync('/tmp/scratch/data', { recursive: true, force: true });
const s = await createSallyport(readConfig({ SALLYPORT_DATA: '/tmp/scratch/data', SALLYPORT_PORT: '0', SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8' }, {}));
console.log(JSON.stringify(s.firstCredentials));
console.log(await s.start());
process.on('SIGTERM', () => void s.stop().then(() => console.log('stopped')));
