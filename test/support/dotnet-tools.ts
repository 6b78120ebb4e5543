/**
 * Compiles and runs programs in C#. Debian has no .NET, but Mono's compiler, and PyPI has runtimes of .NET: 8.0, which runs the programs,
 * and 3.1, against whose assemblies the compiler can compile.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, globSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolFolder } from './tool-folder.ts';

const requirements = fileURLToPath(new URL('../tools/dotnet.txt', import.meta.url));

/** The folder of both runtimes. The first call in a checkout installs them. */
function runtimes(): string {
  return toolFolder('dotnet', requirements, (fresh) => {
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--root-user-action=ignore'];
    const packages = ['--no-deps', '--target', fresh];
    execFileSync('python3', [...pip, ...packages, '--require-hashes', '--only-binary=:all:', '-r', requirements]);
    chmodSync(join(fresh, HOST), 0o755);
  });
}

const HOST = 'dnv/net/runtime/.net/dotnet';

const CONFIGURATION = {
  runtimeOptions: {
    framework: { name: 'Microsoft.NETCore.App', version: '8.0.0' },
    // Otherwise it needs the libraries of ICU.
    configProperties: { 'System.Globalization.Invariant': true },
  },
};

/** Compiles the files to a program in a folder, which begins with `Main` of this class. Returns the command that runs it. */
export function compileCSharp(
  folder: string,
  main: string,
  files: readonly string[],
): readonly [host: string, program: string] {
  const installed = runtimes();
  const program = join(folder, 'Program.dll');
  const assemblies = globSync(
    join(installed, 'dotnetcore2/bin/shared/*/3.1.*/{System,Microsoft,netstandard,mscorlib}*.dll'),
  );
  const references = assemblies.filter((file) => !file.includes('Native')).map((file) => `-r:${file}`);
  const options = [
    '-nostdlib',
    '-noconfig',
    '-langversion:7.2',
    '-nowarn:1701,1702',
    `-main:${main}`,
    `-out:${program}`,
  ];
  execFileSync('mcs', [...options, ...references, ...files], { stdio: 'pipe' });
  writeFileSync(join(folder, 'Program.runtimeconfig.json'), JSON.stringify(CONFIGURATION));
  return [join(installed, HOST), program];
}

/** Puts libsodium beside a program under the name that its package for .NET has. PHP depends on Debian's libsodium. */
export function linkLibsodium(folder: string): void {
  const [library] = globSync('/usr/lib/*/libsodium.so.23');
  if (library === undefined) throw new Error('libsodium is not installed (apt-get install libsodium23)');
  symlinkSync(library, join(folder, 'libsodium.so'));
}
