/**
 * The time of the threads of a service of its own, by V8's profiler. It costs time, so that nothing else is measured of that
 * service.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CpuProfile, microsIn, type Span, threadProfile } from '../report/profile.ts';
import { LARGE_BODIES_RULES, LOOP_RULES, WRITER_RULES } from '../report/profile-rules.ts';
import type { ThreadProfile } from '../report/result.ts';
import { type LoadRequest, load, makeTarget } from './load.ts';
import { type Service, startService } from './service.ts';
import { subfolder } from './work-folder.ts';

const INTERVAL_MICROS = 500;
/** Until the functions are compiled: what compiles them would count. */
const WARMING_SECONDS = 1;
const PROFILED_SECONDS = 2;
const ROOT = new URL('../../../', import.meta.url).href;

/** Has Node write a profile of each thread into the folder, when the thread ends. */
export function profilingFlags(folder: string): readonly string[] {
  return ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${INTERVAL_MICROS}`];
}

/** The clock of profiles, which all processes of the machine share. */
export function monotonicMicros(): number {
  return Number(process.hrtime.bigint()) / 1000;
}

/**
 * Reads the work of the event loop, the writing thread and that of large bodies, if any, within `span`, from the profiles that a service
 * has left in the folder. The thread that copies the log is left out: nobody waits for it. `root` is the folder of the program, as a URL
 * with its last slash.
 */
export function readProfiles(folder: string, span: Span, root: string = ROOT): ThreadProfile[] {
  const profiles = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as CpuProfile);
  // Requests, of which there are some before every measurement, are answered by the one, and what they write is written by the other.
  const loop = busiestIn('src/http/', profiles, root);
  const others = profiles.filter((profile) => profile !== loop);
  const writer = busiestIn('src/store/sqlite/driver/writer.ts', others, root);
  if (loop === undefined || writer === undefined) {
    throw new Error(`${folder} has no profile of the ${loop === undefined ? 'event loop' : 'writing thread'}`);
  }
  const largeBodies = busiestIn('src/delivery/large-bodies-thread.ts', others, root);
  return [
    threadProfile({ thread: 'event loop', profile: loop, span, root, rules: LOOP_RULES }),
    threadProfile({ thread: 'writing thread', profile: writer, span, root, rules: WRITER_RULES }),
    ...(largeBodies === undefined
      ? []
      : [
          threadProfile({
            thread: 'thread of large bodies',
            profile: largeBodies,
            span,
            root,
            rules: LARGE_BODIES_RULES,
          }),
        ]),
  ];
}

function busiestIn(path: string, profiles: readonly CpuProfile[], root: string): CpuProfile | undefined {
  const timed = profiles.map((profile) => ({ profile, micros: microsIn(profile, root, path) }));
  return timed.filter(({ micros }) => micros > 0).toSorted((a, b) => b.micros - a.micros)[0]?.profile;
}

/** Under the load of the requests that `prepare` answers, in a folder of its own below `folder`. */
export async function profileUnderLoad(
  folder: string,
  seconds: number,
  prepare: (service: Service) => Promise<readonly LoadRequest[]>,
): Promise<ThreadProfile[]> {
  const own = subfolder(folder, 'profiled');
  const profiles = join(own, 'profiles');
  const service = await startService({ dataDir: join(own, 'data'), nodeFlags: profilingFlags(profiles) });
  let span: Span;
  try {
    const target = makeTarget(own, 'requests', service, await prepare(service));
    await load(target, { seconds: WARMING_SECONDS });
    const from = monotonicMicros();
    await load(target, { seconds: Math.min(seconds, PROFILED_SECONDS) });
    span = { from, to: monotonicMicros() };
  } finally {
    await service.stop();
  }
  return readProfiles(profiles, span);
}
