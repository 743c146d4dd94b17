import { spawnSync } from 'node:child_process';
import { LayerloomError } from '../base/errors/errors.js';

const toolAdvice =
  'install CMake 3.20 or later and a C++20 compiler (GCC 11, Clang 14): `apt install cmake g++ make`, ' +
  '`dnf install cmake gcc-c++ make`, `apk add cmake g++ make`; on macOS `xcode-select --install` and `brew install cmake`';

const oldestCMake = [3, 20] as const;

const versionText = (command: string, env: NodeJS.ProcessEnv): string | undefined => {
  const { status, stdout } = spawnSync(command, ['--version'], { env, encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
};

const missingTool = (env: NodeJS.ProcessEnv): string | undefined => {
  const cmake = versionText('cmake', env);
  if (cmake === undefined) return 'there is no cmake on the PATH';
  const [major = 0, minor = 0] = (/version (\d+)\.(\d+)/.exec(cmake) ?? []).slice(1).map(Number);
  const [oldestMajor, oldestMinor] = oldestCMake;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor))
    return `cmake is version ${major}.${minor}`;
  // In the order in which CMake searches for compilers.
  const compilers = env['CXX'] ? [env['CXX']] : ['c++', 'g++', 'clang++'];
  if (compilers.every((name) => versionText(name, env) === undefined))
    return `there is no C++ compiler on the PATH (${compilers.join(', ')})`;
  return undefined;
};

/** @throws BUILD_FAILED if CMake or a C++ compiler is missing, or CMake is too old */
export const checkBuildTools = (env: NodeJS.ProcessEnv = process.env): void => {
  const reason = missingTool(env);
  if (reason !== undefined) throw new LayerloomError('BUILD_FAILED', { reason, remedy: toolAdvice });
};
