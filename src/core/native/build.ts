import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { layerloomCommand } from '../base/errors/command-line.js';
import { checkInterrupt, LayerloomError, reasonOf } from '../base/errors/errors.js';
import { packageRoot } from '../base/files/shipped.js';
import { checkBuildTools } from './build-tools.js';
import { hasSources } from './load-failure.js';
import { addonFile, currentHost, targetOf } from './prebuilt.js';

export interface BuildOptions {
  readonly onOutput?: ((text: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface BuiltAddon {
  readonly target: string;
  readonly file: string;
  readonly seconds: number;
}

/**
 * Builds the native addon from the package's sources. Needs CMake, a C++20 compiler, node-addon-api and
 * node-api-headers, but no network. Once the new addon loads, an atomic rename replaces the old one; a failed
 * build changes nothing.
 *
 * @throws PLATFORM_UNSUPPORTED, BUILD_FAILED, INTERRUPTED
 */
export const buildAddon = async (options: BuildOptions = {}): Promise<BuiltAddon> => {
  const started = performance.now();
  const target = targetOf(currentHost());
  if (!hasSources(packageRoot))
    throw new LayerloomError('BUILD_FAILED', {
      reason: 'this installation, of a Python wheel, has no sources of the addon',
      remedy: "install npm's package (`npm install layerloom`) and build there",
    });
  checkBuildTools();
  const headers = headersIn();
  const file = addonFile(target);
  // Fails before the build if the package is not writable.
  const built = addonFile(`${target}.built`);
  makeDirectory(dirname(file));
  makeDirectory(dirname(built));
  const work = mkdtempSync(join(tmpdir(), 'layerloom-build-'));
  try {
    await cmake(['-S', packageRoot, '-B', work, ...definitions(target, headers)], options);
    const threads = String(availableParallelism());
    await cmake(['--build', work, '--target', 'layerloom', '--parallel', threads], options);
    checkLoads(built);
    renameSync(built, file);
  } finally {
    for (const directory of [work, dirname(built)]) rmSync(directory, { recursive: true, force: true });
  }
  return { target, file, seconds: (performance.now() - started) / 1000 };
};

const makeDirectory = (directory: string): void => {
  try {
    mkdirSync(directory, { recursive: true });
  } catch (cause) {
    const remedy = `build as the user who owns it (for a global installation \`sudo ${layerloomCommand('build')}\`), or install layerloom in a directory of your own`;
    const reason = `${directory} cannot be made: ${reasonOf(cause)}`;
    throw new LayerloomError('BUILD_FAILED', { reason, remedy }, { cause });
  }
};

/**
 * Finds Node-API's headers. The package does not depend on them, because only builds need them.
 *
 * @throws BUILD_FAILED if headers or node-addon-api are not installed
 */
const headersIn = (): string => {
  const require = createRequire(import.meta.url);
  try {
    require.resolve('node-addon-api');
    const { include_dir } = require('node-api-headers') as { include_dir: string };
    return include_dir;
  } catch (cause) {
    throw new LayerloomError(
      'BUILD_FAILED',
      {
        reason: 'the headers of Node-API are not installed',
        remedy:
          'install them where layerloom is: `npm install node-addon-api@8 node-api-headers@1` (with -g beside a global layerloom)',
      },
      { cause },
    );
  }
};

/** Returns CMake's definitions, named as cmake-js names them. cmake-js itself would need a network. */
const definitions = (target: string, headers: string): string[] => {
  const values = {
    CMAKE_BUILD_TYPE: 'Release',
    CMAKE_JS_VERSION: 'none',
    CMAKE_JS_INC: headers,
    LAYERLOOM_PREBUILD: `${target}.built`,
  };
  return Object.entries(values).map(([name, value]) => `-D${name}=${value}`);
};

const cmake = async (words: readonly string[], { onOutput, signal }: BuildOptions): Promise<void> => {
  // Makes CMakeLists.txt, which runs `node`, find this Node first.
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const child = spawn('cmake', words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH: path },
  });
  const stop = () => child.kill();
  signal?.addEventListener('abort', stop);
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      onOutput?.(text);
    });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    checkInterrupt(signal);
    if (code !== 0)
      throw new LayerloomError('BUILD_FAILED', {
        reason: firstError(printed) ?? `cmake ended with exit code ${code}`,
        remedy: 'the full output is shown without --quiet; a C++20 compiler (GCC 11, Clang 14) is needed',
      });
  } finally {
    signal?.removeEventListener('abort', stop);
  }
};

const firstError = (printed: string): string | undefined =>
  printed
    .split('\n')
    .find((line) => /\berror\b/i.test(line))
    ?.trim();

/** Loads the addon in another process: loading may crash, and an addon cannot be unloaded. */
const checkLoads = (file: string): void => {
  try {
    execFileSync(process.execPath, ['-e', 'require(process.argv[1])', file], { stdio: 'pipe' });
  } catch (cause) {
    const { stderr } = cause as { stderr?: Buffer };
    throw new LayerloomError(
      'BUILD_FAILED',
      {
        reason: `the built addon cannot be loaded: ${firstError(stderr?.toString() ?? '') ?? reasonOf(cause)}`,
        remedy: 'build with the compiler of this system',
      },
      { cause },
    );
  }
};
