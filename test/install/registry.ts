import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface InstallContext {
  /** Undefined if the tools cannot be installed; then `reason` says why. */
  readonly tools: string | undefined;
  readonly reason: string;
  readonly registry: string;
  readonly tarball: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    install: InstallContext;
  }
}

const tools = {
  dependencies: {
    pnpm: '^10.34.0',
    yarn: '~1.22.22',
    '@yarnpkg/cli-dist': '^4.18.0',
    verdaccio: '~6.2.0',
  },
  // Verdaccio depends on a tag of it, which mirrors may lack.
  overrides: { 'node-fetch': '^2.7.0' },
};

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address !== null ? resolve(address.port) : reject(address),
      );
    });
  });

const npm = (args: readonly string[], cwd: string): string =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

const startRegistry = async (
  work: string,
  directory: string,
): Promise<{ url: string; server: ChildProcess }> => {
  const port = await freePort();
  const config = {
    storage: join(work, 'storage'),
    uplinks: { upstream: { url: npm(['config', 'get', 'registry'], work).trim(), timeout: '120s' } },
    packages: {
      layerloom: { access: '$all', publish: '$all' },
      '**': { access: '$all', proxy: 'upstream' },
    },
    log: { type: 'file', path: join(work, 'registry.log'), level: 'warn' },
    max_body_size: '100mb',
  };
  writeFileSync(join(work, 'registry.yaml'), JSON.stringify(config));
  const words = ['--config', join(work, 'registry.yaml'), '--listen', `127.0.0.1:${port}`];
  const server = spawn(join(directory, 'node_modules/.bin/verdaccio'), words, { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}/`;
  while (server.exitCode === null) {
    const answer = await fetch(`${url}-/ping`).catch(() => undefined);
    if (answer?.ok) return { url, server };
    await pause(200);
  }
  throw new Error(`the registry ended with exit code ${server.exitCode}`);
};

/** Packs the package, and publishes it to a local registry that proxies all other packages. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const work = mkdtempSync(join(tmpdir(), 'layerloom-install-'));
  const remove = async () => rmSync(work, { recursive: true });
  const directory = join(root, 'node_modules', '.cache', 'install-tools');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), JSON.stringify(tools));
  try {
    if (!existsSync(join(directory, 'node_modules/.bin/verdaccio')))
      npm(['install', '--ignore-scripts'], directory);
  } catch (error) {
    const reason = `pnpm, yarn and verdaccio cannot be installed: ${String(error).split('\n')[0]}`;
    project.provide('install', { tools: undefined, reason, registry: '', tarball: '' });
    return remove;
  }
  const printed = execFileSync(process.execPath, [join(root, 'scripts/package.mjs'), work], {
    encoding: 'utf8',
  });
  const tarball = printed.split(': ')[0] ?? '';
  const { url: registry, server } = await startRegistry(work, directory).catch(async (error) => {
    await remove();
    throw error;
  });
  const token = `--${registry.replace('http:', '')}:_authToken=any`;
  npm(['publish', tarball, '--registry', registry, token, '--provenance=false'], work);
  project.provide('install', { tools: directory, reason: '', registry, tarball });
  return async () => {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill();
    await ended;
    await remove();
  };
};
