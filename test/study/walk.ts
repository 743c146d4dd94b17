import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Ended {
  readonly killed: boolean;
  readonly status: number | null;
  readonly text: string;
}

export class Walk {
  readonly times: string[] = [];
  kills = 0;
  readonly #directory: string;
  readonly #path: string;
  readonly #random: () => number;

  constructor(directory: string, { python, seed }: { readonly python: string; readonly seed: number }) {
    this.#directory = directory;
    this.#random = randomOf(seed);
    const programs = join(directory, 'bin');
    mkdirSync(programs, { recursive: true });
    const program = join(programs, 'layerloom');
    writeFileSync(
      program,
      `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'bin/layerloom.cjs')}' "$@"\n`,
    );
    chmodSync(program, 0o755);
    this.#path = [programs, dirname(python), dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter);
  }

  async type(line: string): Promise<string> {
    const { status, text } = await this.#run(line);
    if (status !== 0) throw new Error(`${line}\nended with ${status}:\n${text.slice(-8000)}`);
    return text;
  }

  async next(line: string): Promise<string> {
    const text = await this.type(line);
    const next = /^Next:\s+(layerloom .*)$/m.exec(text)?.[1];
    if (next === undefined) throw new Error(`${line}\nprints no next command:\n${text}`);
    return next;
  }

  /**
   * Starts a line, and kills it with all its processes at a random moment of its first seconds; repeats this.
   */
  async kill(line: string, seconds: number, times = 1): Promise<void> {
    for (let time = 0; time < times; time++) {
      const { killed } = await this.#run(line, this.#random() * seconds);
      if (killed) this.kills++;
    }
  }

  /** Starts a line, and kills it with all its processes within seconds after a condition holds. */
  async killAfter(line: string, isDue: () => boolean, seconds: number): Promise<void> {
    const { killed } = await this.#run(line, this.#random() * seconds, isDue);
    if (killed) this.kills++;
  }

  async #run(line: string, killAfter?: number, isDue = () => true): Promise<Ended> {
    const started = performance.now();
    const child = spawn('bash', ['-c', line], {
      cwd: this.#directory,
      detached: true,
      // With a socket as input, bash takes itself for a remote shell and reads the user's settings.
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: this.#path,
        HOME: this.#directory,
        LANG: 'C.UTF-8',
        NO_COLOR: '1',
        HF_HUB_OFFLINE: '1',
        TOKENIZERS_PARALLELISM: 'false',
      },
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
    let timer: NodeJS.Timeout | undefined;
    const wait = (group: number, seconds: number) => {
      timer = isDue()
        ? setTimeout(() => process.kill(-group, 'SIGKILL'), seconds * 1000)
        : setTimeout(wait, 50, group, seconds);
    };
    if (killAfter !== undefined && child.pid !== undefined) wait(child.pid, killAfter);
    const [status, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (...ended) => resolve(ended));
    });
    clearTimeout(timer);
    const killed = signal === 'SIGKILL';
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    this.times.push(`${seconds.padStart(7)} s  ${line}${killed ? '  (killed)' : ''}`);
    process.stderr.write(`${this.times.at(-1)}\n`);
    return { killed, status, text };
  }
}

/** A linear congruential generator (Numerical Recipes' constants): numbers in [0, 1). */
const randomOf = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};
