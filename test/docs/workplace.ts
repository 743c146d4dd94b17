import { spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { writeMgsm } from '../fixtures/evaluation-data.js';
import { writeLlamaPrograms } from '../fixtures/llama-cpp.js';
import { root } from './fences.js';
import { writeFullSizeModels, writeSmallModels } from './models.js';

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class Workplace {
  readonly #root = mkdtempSync(join(tmpdir(), 'layerloom-docs-'));
  readonly #models = join(this.#root, 'models');
  readonly #programs = join(this.#root, 'bin');

  constructor() {
    writeSmallModels(this.#models);
    cpSync(join(this.#models, 'llama-3.1-8b'), join(this.#models, 'base'), { recursive: true });
    writeMgsm(join(this.#models, 'mgsm'), 20);
    // As in a project with layerloom installed: for `npx layerloom` and `import … from 'layerloom'`.
    this.#program(join(this.#models, 'node_modules', '.bin'), 'layerloom', 'bin/layerloom.cjs');
    symlinkSync(root, join(this.#models, 'node_modules', 'layerloom'));
    symlinkSync(join(root, 'node_modules/.bin/tsc'), join(this.#models, 'node_modules/.bin/tsc'));
    writeFileSync(join(this.#models, 'package.json'), '{"type": "module", "private": true}\n');
    this.#program(this.#programs, 'layerloom', 'bin/layerloom.cjs');
    // As pip writes it for long paths, so that its Python is found.
    const python = join(root, 'test/fixtures/stand-in/python');
    this.#script(this.#programs, 'lm_eval', `'''exec' "${python}" "$0" "$@"`);
    writeLlamaPrograms(this.#programs);
  }

  #program(folder: string, name: string, script: string): void {
    this.#script(folder, name, `exec '${process.execPath}' '${join(root, script)}' "$@"`);
  }

  #script(folder: string, name: string, line: string): void {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, name);
    writeFileSync(file, `#!/bin/sh\n${line}\n`);
    chmodSync(file, 0o755);
  }

  directory(page: string): string {
    const directory = join(this.#root, page.replaceAll('/', '-'));
    cpSync(this.#models, directory, { recursive: true, verbatimSymlinks: true });
    if (page.startsWith('examples/')) cpSync(join(root, dirname(page)), directory, { recursive: true });
    return directory;
  }

  fullSizeDirectory(): string {
    const directory = join(this.#root, 'full-size');
    writeFullSizeModels(directory);
    return directory;
  }

  async run(command: string, directory: string): Promise<Ended> {
    const child = spawn('bash', ['-c', command], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: [this.#programs, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
        HOME: this.#root,
        HF_HOME: join(this.#root, 'hub'),
        TMPDIR: this.#root,
        LANG: 'C.UTF-8',
        NO_COLOR: '1',
      },
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      stdout += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr += chunk;
    });
    const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
    return { status, stdout, stderr };
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}
