import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

export interface FramesContext {
  /** The reason if nothing can be tested; else empty. */
  readonly reason: string;
  readonly python: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    frames: FramesContext;
  }
}

const packages = ['pandas', 'polars', 'pyarrow', 'duckdb', 'mlflow-skinny', 'sqlalchemy', 'alembic', 'wandb'];

const kept = fileURLToPath(new URL('../../node_modules/.cache/frames-tools', import.meta.url));

const run = (file: string, words: readonly string[]): string =>
  execFileSync(file, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

const prepare = (): string => {
  const given = process.env['LAYERLOOM_FRAMES_PYTHON'];
  if (given !== undefined) return given;
  const python = join(kept, 'bin/python');
  if (!existsSync(python)) run('python3', ['-m', 'venv', kept]);
  run(python, ['-m', 'pip', 'install', '--quiet', ...packages]);
  return python;
};

export default (project: TestProject): void => {
  try {
    project.provide('frames', { reason: '', python: prepare() });
  } catch (error) {
    const { message, stderr = '' } = error as Error & { stderr?: string };
    const reason = stderr.trim().split('\n').at(-1) || message.split('\n')[0] || 'unknown';
    project.provide('frames', { reason, python: '' });
  }
};
