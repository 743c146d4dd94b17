import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { targets } from '../../scripts/prebuilds/targets.mjs';
import { freePort } from '../install/registry.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

declare module 'vitest' {
  export interface ProvidedContext {
    /** Undefined if nothing can be tested; then `indexReason` says why. */
    index: string | undefined;
    indexReason: string;
  }
}

const run = (file: string, words: readonly string[]): string =>
  execFileSync(file, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** Uploads this platform's wheel and the source distribution to a local pypiserver. */
const publish = async (work: string): Promise<{ url: string; stop: () => void }> => {
  const [bin, wheels, packages] = [join(work, 'tools/bin'), join(work, 'wheels'), join(work, 'packages')];
  run('python3', ['-m', 'venv', join(work, 'tools')]);
  run(join(bin, 'pip'), ['install', '--quiet', 'pypiserver==2.*', 'twine==7.0.0']);
  const target = `${process.platform}-${process.arch}`;
  if (!Object.hasOwn(targets, target)) throw new Error(`there is no wheel for ${target}`);
  run(process.execPath, [join(root, 'scripts/wheels.mjs'), target, wheels]);
  mkdirSync(packages);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  // Other packages are redirected to pip's own index.
  const upstream = process.env['PIP_INDEX_URL'];
  const open = ['-P', '.', '-a', '.', ...(upstream === undefined ? [] : ['--fallback-url', upstream])];
  const server = spawn(
    join(bin, 'pypi-server'),
    ['run', '-i', '127.0.0.1', '-p', `${port}`, ...open, packages],
    {
      stdio: 'ignore',
    },
  );
  while (
    !(await fetch(`${url}/simple/`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (server.exitCode !== null) throw new Error(`pypiserver ended with exit code ${server.exitCode}`);
    await pause(200);
  }
  const files = readdirSync(wheels).map((file) => join(wheels, file));
  const stop = () => void server.kill();
  try {
    run(join(bin, 'twine'), [
      'upload',
      '--non-interactive',
      '--repository-url',
      url,
      '-u',
      'any',
      '-p',
      'any',
      ...files,
    ]);
  } catch (error) {
    stop();
    throw error;
  }
  return { url, stop };
};

export default async (project: TestProject): Promise<() => void> => {
  const work = mkdtempSync(join(tmpdir(), 'layerloom-index-'));
  const remove = () => rmSync(work, { recursive: true });
  try {
    const { url, stop } = await publish(work);
    project.provide('index', url);
    project.provide('indexReason', '');
    return () => {
      stop();
      remove();
    };
  } catch (error) {
    const { message, stderr = '' } = error as Error & { stderr?: string };
    const reason = stderr.trim().split('\n').at(-1) || message.split('\n')[0] || 'unknown';
    project.provide('index', undefined);
    project.provide('indexReason', reason);
    return remove;
  }
};
