import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckpointIndex } from './checkpoint.js';
import { provenanceName, staysInside } from './file-names.js';
import { isWeightsName } from './formats.js';

/**
 * Files beside the weights that belong to the model: read by transformers, vLLM and llama.cpp, or its
 * licence.
 */
const patterns: readonly RegExp[] = [
  /^(config|params|generation_config|quantize_config|hf_quant_config)\.json$/,
  /^tokenizer.*\.json$/,
  /^tokenizer\.model/,
  /^(special_tokens_map|added_tokens|vocab|tekken)\.json$/,
  /^(merges|vocab)\.txt$/,
  /^(sentencepiece.*|spiece)\.model$/,
  /\.tiktoken$/,
  /^chat_template\.json$/,
  /\.jinja$/,
  /^(video_)?(pre)?processor_config\.json$/,
  // Code that comes with the model (trust_remote_code), whatever its files are called.
  /\.py$/,
  /^(LICEN[CS]E|NOTICE|USE_POLICY)/i,
];

/** The one folder of side files that transformers writes. */
const templates = 'additional_chat_templates';

/** Never a side file, whatever it is called. */
const weights = /\.(safetensors|bin|pth?|gguf|onnx|h5|msgpack)$/;

/**
 * The names of a checkpoint directory's side files, sorted, those of a folder with its name. Weights,
 * training state and the model card are none.
 */
export const listSideFiles = async (directory: string): Promise<string[]> => {
  const entries = await readdir(directory, { withFileTypes: true });
  const files = entries
    .filter(({ name }) => patterns.some((pattern) => pattern.test(name)) && !weights.test(name))
    .filter((entry) => !entry.isDirectory())
    .map(({ name }) => name);
  const hasTemplates = entries.some((entry) => entry.name === templates && entry.isDirectory());
  const inFolder = hasTemplates ? await readdir(join(directory, templates), { withFileTypes: true }) : [];
  return [
    ...files,
    ...inFolder
      .filter((entry) => entry.name.endsWith('.jinja') && !entry.isDirectory())
      .map(({ name }) => `${templates}/${name}`),
  ].sort();
};

/** The place of a checkpoint, where its side files are. */
export type SideFilePlace = Pick<CheckpointIndex, 'path' | 'adapted'>;

/** Returns the path of one of a checkpoint's side files: its own, or those of base and adapter. */
export const sideFilePath = ({ path, adapted }: SideFilePlace, name: string): string =>
  join(
    adapted === undefined ? path : adapted[adapted.sideFiles.includes(name) ? 'adapter' : 'base'].path,
    name,
  );

/** Names of the files of a tokenizer, which an adapter's directory may have in place of the base's. */
export const isTokenizerFile = (name: string): boolean =>
  /^(tokenizer.*\.json|tokenizer\.model.*|special_tokens_map\.json|added_tokens\.json|vocab\.(json|txt)|merges\.txt|(spiece|sentencepiece.*)\.model|tekken\.json|.*\.tiktoken|chat_template\.json|.*\.jinja)$/.test(
    name,
  );

/**
 * True if a file of the hub belongs to a model and is fetched with it: side files except code, which a download
 * must not bring, and the model card.
 */
export const isFetchedSideFile = (name: string): boolean =>
  name === 'README.md' ||
  (/^[^/]+$/.test(name)
    ? patterns.some((pattern) => pattern.test(name)) && !weights.test(name) && !name.endsWith('.py')
    : new RegExp(`^${templates}/[^/]+\\.jinja$`).test(name));

/**
 * True if a plan may write a file of this name beside its shards: into their directory or its one folder, and
 * over none of them.
 */
export const isSideFileName = (name: string): boolean => {
  const inFolder = name.startsWith(`${templates}/`);
  const last = inFolder ? name.slice(templates.length + 1) : name;
  return (
    staysInside(name) &&
    /^[^/\\\p{Cc}]+$/u.test(last) &&
    !['.', templates].includes(last) &&
    // In any spelling: file systems that do not tell cases apart would write one over the other.
    last.toLowerCase() !== provenanceName &&
    !isWeightsName(last.toLowerCase())
  );
};
