import { execFileSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeReceiver } from '../support/receiver-program-tests.ts';
import { receiverFile } from '../support/receiver-programs.ts';

/** The project file of `dotnet new console`, for the installed version. */
const project = (major: number): string => `<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>${major < 5 ? 'netcoreapp' : 'net'}${major}.${major === 3 ? 1 : 0}</TargetFramework>
    <StartupObject>FixedClock</StartupObject>
  </PropertyGroup>
</Project>
`;

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
  needs: { dotnet: null, gpg: 'gnupg' },
  servesTls: false,
  readsHeadersFirst: true,
  verifiesPublicKeys: false,
  dropsRepeated: true,
  listening: /^listening on port/,
  settings: { HOST: '*' },
  prepare: (folder) => {
    const dotnet = (...args: readonly string[]): string =>
      execFileSync('dotnet', args, { cwd: folder, encoding: 'utf8', env: { ...process.env, HOME: folder } });
    const built = join(folder, 'built');
    writeFileSync(join(folder, 'Receiver.csproj'), project(Number.parseInt(dotnet('--version'), 10)));
    writeFileSync(join(folder, 'FixedClock.cs'), FIXED_CLOCK);
    copyFileSync(receiverFile('Receiver.cs'), join(folder, 'Receiver.cs'));
    dotnet('build', '--output', built);
    const program = join(built, 'Receiver.dll');
    return {
      command: () => ['dotnet', program],
      commandAt: (_port, epochSeconds) => ['dotnet', program, String(epochSeconds)],
    };
  },
});
