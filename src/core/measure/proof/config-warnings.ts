import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../models/checkpoint/files/json.js';
import { readSmallFile } from '../../models/checkpoint/files/small-file.js';
import type { OpenedCheckpoint } from '../../plan/compile/inputs/models.js';
import type { MergePlan } from '../../plan/plan.js';
import { jsonOrNone } from '../../texts/json.js';

/** Keys that describe how the model was written, not how it computes. */
const ofTheWriter =
  /^(_name_or_path|architectures|torch_dtype|dtype|transformers_version|use_cache|_commit_hash|unsloth_\w+|name_or_path|pad_token_id)$/;

/** Keys that change results even if only one side has them, and their default is not stated. */
const decisive = /^(rope_\w+|sliding_window|quantization_config|auto_map|\w+_multiplier|\w+_softcapping)$/;

const isStated = (value: unknown): boolean => value !== undefined && value !== null && value !== false;

/** Warns of keys of `config.json` with which loaders compute otherwise than with the expected file. */
export const configWarnings = async (
  { files }: Pick<MergePlan, 'files'>,
  { checkpoint }: OpenedCheckpoint,
): Promise<string[]> => {
  const planned = files.find(({ name }) => name === 'config.json');
  if (planned === undefined) return [];
  if (checkpoint.config === undefined)
    return ['the output has no config.json: what loaders compute with its tensors is not known'];
  const text = 'text' in planned ? Buffer.from(planned.text) : await readSmallFile(planned.copyOf);
  const expected = jsonOrNone(text, { python: true });
  if (!isObject(expected)) return [];
  const found = checkpoint.config;
  const keys = [...new Set([...Object.keys(expected), ...Object.keys(found)])].filter(
    (key) => !ofTheWriter.test(key) && expected[key] !== undefined && found[key] !== undefined,
  );
  // transformers 5 writes rope_parameters for rope_theta and rope_scaling.
  const isOtherSpelling = isStated(expected['rope_parameters']) !== isStated(found['rope_parameters']);
  const ofOne = [...new Set([...Object.keys(expected), ...Object.keys(found)])].filter(
    (key) =>
      decisive.test(key) &&
      isStated(expected[key]) !== isStated(found[key]) &&
      !keys.includes(key) &&
      !(isOtherSpelling && key.startsWith('rope_')),
  );
  const worded = (value: unknown): string => JSON.stringify(value) ?? 'none';
  return [...keys.filter((key) => !isDeepStrictEqual(expected[key], found[key])), ...ofOne].map(
    (key) => `config.json has ${key} ${worded(found[key])}, and the expected merge ${worded(expected[key])}`,
  );
};
