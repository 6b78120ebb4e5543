/**
 * Preloaded into a program and its threads: counts the calls of every function. `globalThis.ranFiles()` returns the files of src/ in which
 * a function has run since the last call, in any thread.
 */
import { Session } from 'node:inspector/promises';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

const source = new URL('../../src/', import.meta.url).href;

async function ranHere() {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url, functions }) => url.startsWith(source) && functions.some(hasRun))
    .map(({ url }) => url.slice(source.length));
}

/** The first function of a file is its body, which runs when the file is loaded. */
function hasRun({ ranges: [range] }) {
  return range.count > 0 && range.startOffset > 0;
}

const channel = new BroadcastChannel('ran-files');
channel.unref();
if (isMainThread) {
  const threads = new Set();
  process.on('worker', (thread) => {
    const id = thread.threadId;
    threads.add(id);
    thread.once('exit', () => threads.delete(id));
  });
  let answered = () => {};
  channel.onmessage = ({ data: { from, files } }) => answered(from, files);
  globalThis.ranFiles = async () => {
    const all = await ranHere();
    const waiting = new Set(threads);
    if (waiting.size === 0) return all;
    const fromThreads = new Promise((resolve) => {
      answered = (from, files) => {
        waiting.delete(from);
        all.push(...files);
        if (waiting.size === 0) resolve();
      };
    });
    channel.postMessage('take');
    await fromThreads;
    return [...new Set(all)];
  };
} else {
  channel.onmessage = async () => channel.postMessage({ from: threadId, files: await ranHere() });
}
