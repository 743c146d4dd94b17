import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { layerloomCommand } from '../../core/base/errors/command-line.js';
import { reasonOf } from '../../core/base/errors/errors.js';
import { isMissing } from '../../core/base/files/unless-missing.js';
import { counted } from '../../core/base/format.js';
import { hubCacheRoot } from '../../core/models/sources/hub/cache/hub-cache.js';
import { findHarness, harnessName } from '../../study/evaluation/harness/harness-command.js';
import { knownHarnessVersion } from '../../study/evaluation/harness/harness-process.js';
import { type Finding, ok, warning } from './finding.js';

export interface HubCacheFacts {
  readonly path: string;
  /** Number of models; undefined if the directory does not exist. */
  readonly models: number | undefined;
  /** Reason why the cache cannot be read, if it may exist. */
  readonly unread?: string;
}

/** lm_eval as found by `layerloom evaluate`. */
export interface HarnessFacts {
  readonly command: string;
  /** Path of the command, or of the Python that has the module, on the PATH. */
  readonly file: string | undefined;
  /** Version; undefined if the command is not a Python script or its environment does not state a version. */
  readonly version: string | undefined;
}

export const examineHubCache = (env: NodeJS.ProcessEnv = process.env): HubCacheFacts => {
  const path = hubCacheRoot(env);
  try {
    return { path, models: readdirSync(path).filter((name) => name.startsWith('models--')).length };
  } catch (error) {
    // A missing cache is fine: nothing has been downloaded yet, and merging needs no cache.
    return { path, models: undefined, ...(isMissing(error) ? {} : { unread: reasonOf(error) }) };
  }
};

const startOf = (file: string): string => {
  const fd = openSync(file, 'r');
  try {
    const start = Buffer.alloc(4096);
    return start.toString('utf8', 0, readSync(fd, start, 0, start.length, 0));
  } finally {
    closeSync(fd);
  }
};

/**
 * Returns the interpreter of a script that pip installed: on line 1, or a long path after `exec` on line 2.
 */
export const pythonOf = (script: string): string | undefined =>
  /^(?:#!\s*|#!\/bin\/sh\n'''exec' "?)(?<python>[^\s"]*python[^\s"]*)/.exec(script)?.groups?.['python'];

const versionOf = (file: string): string | undefined => {
  const python = /(^|\/)python[\d.]*$/.test(file) ? file : pythonOf(startOf(file));
  if (python === undefined) return undefined;
  try {
    // Reads the version from metadata, because importing `lm_eval` imports torch, which takes ten seconds.
    const program = "import importlib.metadata as m; print(m.version('lm_eval'))";
    return execFileSync(python, ['-c', program], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    // The interpreter is missing, or pip did not install lm_eval.
    return undefined;
  }
};

export const examineHarness = (env: NodeJS.ProcessEnv = process.env): HarnessFacts => {
  const found = findHarness(env['PATH'] ?? '');
  return found === undefined
    ? { command: harnessName, file: undefined, version: undefined }
    : { ...found, version: versionOf(found.file) };
};

export const hubCacheFinding = ({ path, models, unread }: HubCacheFacts): Finding =>
  unread === undefined
    ? ok('hub cache', models === undefined ? `none (${path})` : `${counted(models, 'model')} in ${path}`)
    : warning(
        'hub cache',
        `${path} cannot be read: ${unread}`,
        'models of the hub (`org/name`) are searched there: set HF_HOME to a directory that you can read',
      );

export const harnessFinding = ({ command, file, version }: HarnessFacts): Finding => {
  const install = `\`pip install "lm-eval[hf,api]==${knownHarnessVersion}"\``;
  if (file === undefined)
    return warning(
      harnessName,
      'not on the PATH',
      `only \`${layerloomCommand('evaluate')}\` needs it: ${install}, or --lm-eval COMMAND`,
    );
  const text = `${version ?? 'of unknown version'}, ${command === harnessName ? file : command}`;
  return version === knownHarnessVersion
    ? ok(harnessName, text)
    : warning(harnessName, text, `layerloom was tested with ${knownHarnessVersion}: ${install}`);
};
