/** The command line: `sallyport <command> …`. */
import './kernel/threads.ts';
import { leave } from './cli/exit.ts';
import { run } from './cli/run.ts';
import { processTerminal } from './cli/terminal.ts';
import { useCompiledCode } from './kernel/compiled-code.ts';
import { standardError } from './observe/log-destination.ts';

useCompiledCode();
run(process.argv.slice(2), processTerminal()).then(
  (status) => standardError.drained().then(() => leave(status)),
  () => leave(1),
);
