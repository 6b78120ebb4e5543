import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compileCSharp, linkLibsodium } from '../support/dotnet-tools.ts';
import { describeReceiver } from '../support/receiver-program-tests.ts';
import { receiverFile } from '../support/receiver-programs.ts';

/** The clock is fixed if `seconds` are given. */
const FIXED_CLOCK = `
using System;

static class FixedClock
{
    static void Main(string[] args)
    {
        if (args.Length > 0)
        {
            var at = DateTimeOffset.FromUnixTimeSeconds(long.Parse(args[0]));
            Receiver.Now = () => at;
        }
        Receiver.Main();
    }
}
`;

describeReceiver({
  language: 'C#',
  needs: { mcs: 'mono-mcs', python3: 'python3', gpg: 'gnupg' },
  servesTls: false,
  readsHeadersFirst: true,
  dropsRepeated: true,
  listening: /^listening on port/,
  settings: { HOST: '*' },
  prepare: (folder) => {
    const clock = join(folder, 'FixedClock.cs');
    writeFileSync(clock, FIXED_CLOCK);
    linkLibsodium(folder);
    const command = compileCSharp(folder, 'FixedClock', [receiverFile('Receiver.cs'), clock]);
    return {
      command: () => command,
      commandAt: (_port, epochSeconds) => [...command, String(epochSeconds)],
    };
  },
});
