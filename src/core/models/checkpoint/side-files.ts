import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { staysInside } from '../address/file-name.js';
import { isWeightsName } from './containers/containers.js';
import { cardName, provenanceName } from './file-names.js';
import { moduleFolder } from './module-folders.js';

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
  // Modules of sentence-transformers, of which the model is the first.
  /^(modules|config_sentence_transformers|sentence_\w+_config)\.json$/,
  // Code that comes with the model (trust_remote_code), whatever its files are called.
  /\.py$/,
  /^(LICEN[CS]E|NOTICE|USE_POLICY)/i,
];

/** Folders of side files, and which of their files are such. */
const folders: readonly { readonly folder: RegExp; readonly file: RegExp }[] = [
  // Of transformers.
  { folder: /^additional_chat_templates$/, file: /\.jinja$/ },
  // A module of sentence-transformers: `1_Pooling/config.json`. Weights of modules are tensors of the model.
  { folder: moduleFolder, file: /^\w+\.json$/ },
];

/** Weights and graphs of other frameworks. */
const ofOtherFrameworks = /\.(onnx|h5|msgpack)$/;

const isAtTop = (name: string): boolean =>
  patterns.some((pattern) => pattern.test(name)) && !isWeightsName(name) && !ofOtherFrameworks.test(name);

const isInFolder = (folder: string, name: string): boolean =>
  folders.some((known) => known.folder.test(folder) && known.file.test(name));

/**
 * The names of a checkpoint directory's side files, sorted, those of a folder with its name. Weights,
 * training state and the model card are none.
 */
export const listSideFiles = async (directory: string): Promise<string[]> => {
  const entries = await readdir(directory, { withFileTypes: true });
  const inFolders = entries
    .filter((entry) => entry.isDirectory() && folders.some(({ folder }) => folder.test(entry.name)))
    .map(async ({ name: folder }) =>
      (await readdir(join(directory, folder), { withFileTypes: true }))
        .filter((entry) => !entry.isDirectory() && isInFolder(folder, entry.name))
        .map(({ name }) => `${folder}/${name}`),
    );
  return [
    ...entries.filter((entry) => !entry.isDirectory() && isAtTop(entry.name)).map(({ name }) => name),
    ...(await Promise.all(inFolders)).flat(),
  ].sort();
};

/**
 * The names of what else is in a checkpoint's directory, sorted, those of folders that side files are in with their
 * own, other folders as `NAME/`. The model card and hidden files are left out.
 *
 * @param own names of the checkpoint's side files, files of weights and the like
 */
export const listOtherFiles = async (directory: string, own: ReadonlySet<string>): Promise<string[]> => {
  const namesIn = async (folder: string): Promise<string[]> =>
    (await readdir(join(directory, folder), { withFileTypes: true })).map((entry) =>
      join(folder, entry.isDirectory() ? `${entry.name}/` : entry.name),
    );
  const names = await Promise.all(
    (await namesIn('')).map(async (name) =>
      name.endsWith('/') && [...own].some((other) => other.startsWith(name)) ? await namesIn(name) : [name],
    ),
  );
  return names
    .flat()
    .filter((name) => !own.has(name) && !name.startsWith('.') && ![cardName, provenanceName].includes(name))
    .sort();
};

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
  name === cardName || (name.includes('/') ? isInOneFolder(name) : isAtTop(name) && !name.endsWith('.py'));

const isInOneFolder = (name: string): boolean => {
  const [folder = '', file = '', ...deeper] = name.split('/');
  return deeper.length === 0 && isInFolder(folder, file);
};

/**
 * True if a plan may write a file of this name beside its shards: into their directory or a folder of side files, and
 * over none of them.
 */
export const isSideFileName = (name: string): boolean => {
  const [folder, ...rest] = name.split('/');
  const isKnown = (of: string | undefined) => folders.some((known) => known.folder.test(of ?? ''));
  const last = rest.length > 0 && isKnown(folder) ? rest.join('/') : name;
  return (
    staysInside(name) &&
    /^[^/\\\p{Cc}]+$/u.test(last) &&
    last !== '.' &&
    !isKnown(last) &&
    // In any spelling: file systems that do not tell cases apart would write one over the other.
    last.toLowerCase() !== provenanceName &&
    !isWeightsName(last.toLowerCase())
  );
};
