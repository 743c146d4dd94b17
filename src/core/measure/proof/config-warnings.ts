import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../models/checkpoint/files/json.js';
import { readSmallFile } from '../../models/checkpoint/files/small-file.js';
import type { OpenedCheckpoint } from '../../plan/compile/inputs/models.js';
import type { MergePlan } from '../../plan/plan.js';
import { jsonOrNone } from '../../texts/json.js';

/** Keys that describe how the model was written, not how it computes. */
const ofTheWriter =
  /^(_name_or_path|architectures|torch_dtype|dtype|transformers_version|use_cache|_commit_hash|unsloth_\w+|auto_map|name_or_path|pad_token_id)$/;

/** Warns of keys of `config.json` with which loaders compute otherwise than with the expected file. */
export const configWarnings = async (
  { files }: Pick<MergePlan, 'files'>,
  { checkpoint }: OpenedCheckpoint,
): Promise<string[]> => {
  const planned = files.find(({ name }) => name === 'config.json');
  if (planned === undefined || checkpoint.config === undefined) return [];
  const text = 'text' in planned ? Buffer.from(planned.text) : await readSmallFile(planned.copyOf);
  const expected = jsonOrNone(text, { python: true });
  if (!isObject(expected)) return [];
  const found = checkpoint.config;
  const keys = [...new Set([...Object.keys(expected), ...Object.keys(found)])].filter(
    (key) => !ofTheWriter.test(key) && expected[key] !== undefined && found[key] !== undefined,
  );
  return keys
    .filter((key) => !isDeepStrictEqual(expected[key], found[key]))
    .map(
      (key) =>
        `config.json has ${key} ${JSON.stringify(found[key])}, and the expected merge ${JSON.stringify(expected[key])}`,
    );
};
