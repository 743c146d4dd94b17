import { createHash } from 'node:crypto';
import { mkdir, realpath, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { isObject } from '../../core/models/checkpoint/files/json.js';
import { readSmallFile } from '../../core/models/checkpoint/files/small-file.js';
import { parseJson } from '../../core/texts/json.js';
import type { EvaluationSettings } from '../evaluation/settings.js';

// An experiment's `evaluate:` block may contain commands. A batch notes its folder and these commands where only the
// user can write. Other folders may come from anywhere, so their commands need permission.

/** Harness arguments that name no file, model or code. */
const plainArguments: ReadonlySet<string> = new Set([
  'add_bos_token',
  'attn_implementation',
  'data_parallel_size',
  'dtype',
  'enable_thinking',
  'enforce_eager',
  'gpu_memory_utilization',
  'load_in_4bit',
  'load_in_8bit',
  'max_batch_size',
  'max_gen_toks',
  'max_length',
  'max_model_len',
  'max_num_seqs',
  'max_retries',
  'num_concurrent',
  'parallelize',
  'seed',
  'tensor_parallel_size',
  'timeout',
  'truncation',
]);

/**
 * Returns the values in `evaluate:` that can run arbitrary code: task files may have Python functions, and back-end
 * arguments may enable code (`trust_remote_code`).
 */
export const commandsIn = ({
  serve,
  arguments: words,
  modelArgs,
  include,
  confirmRunUnsafeCode,
}: Pick<
  EvaluationSettings,
  'serve' | 'arguments' | 'modelArgs' | 'include' | 'confirmRunUnsafeCode'
>): string[] => [
  ...(serve === undefined ? [] : [`serve: ${serve}`]),
  ...(words.length === 0 ? [] : [`arguments: ${words.join(' ')}`]),
  ...(confirmRunUnsafeCode ? ['confirm_run_unsafe_code: true'] : []),
  ...include.map((directory) => `include: ${directory}`),
  ...Object.entries(modelArgs)
    .filter(([name]) => !plainArguments.has(name))
    .map(([name, value]) => `model_args: ${name}=${value}`),
];

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** `$XDG_STATE_HOME`, else `~/.local/state`. */
const stateFolder = (env: NodeJS.ProcessEnv): string => {
  const { XDG_STATE_HOME: given = '' } = env;
  return join(isAbsolute(given) ? given : join(homedir(), '.local', 'state'), 'layerloom', 'experiments');
};

const noteOf = async (directory: string, env: NodeJS.ProcessEnv): Promise<string> =>
  join(stateFolder(env), `${sha256(await realpath(directory)).slice(0, 32)}.json`);

/**
 * Notes that a batch of this user wrote a folder with these commands. Without a state folder it notes nothing, so
 * evaluations need `--allow-serve`.
 */
export const noteMadeHere = async (
  directory: string,
  settings: EvaluationSettings,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> => {
  const commands = commandsIn(settings);
  if (commands.length === 0) return;
  try {
    const note = await noteOf(directory, env);
    await mkdir(stateFolder(env), { recursive: true, mode: 0o700 });
    const partial = `${note}.${process.pid}`;
    await writeFile(
      partial,
      `${JSON.stringify({ directory, commands: sha256(JSON.stringify(commands)) })}\n`,
      { mode: 0o600 },
    );
    await rename(partial, note);
  } catch {
    // Without this note, evaluations need `--allow-serve`.
  }
};

const isMadeHere = async (
  directory: string,
  commands: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<boolean> => {
  try {
    const note = parseJson(await readSmallFile(await noteOf(directory, env)));
    return isObject(note) && note['commands'] === sha256(JSON.stringify(commands));
  } catch {
    return false;
  }
};

/**
 * Refuses commands unless a batch of this user wrote the folder with them.
 *
 * @throws SERVE_NOT_ALLOWED
 */
export const checkMadeHere = async (
  directory: string,
  settings: EvaluationSettings,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> => {
  const commands = commandsIn(settings);
  if (commands.length === 0 || (await isMadeHere(directory, commands, env))) return;
  throw new LayerloomError('SERVE_NOT_ALLOWED', { directory, commands });
};
