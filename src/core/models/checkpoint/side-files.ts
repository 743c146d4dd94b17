import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { staysInside } from '../address/file-name.js';
import { isWeightsName } from './containers/containers.js';
import { cardName, provenanceName } from './files/file-names.js';
import { moduleFolder } from './module-folders.js';

/** Files that belong to a model: read by transformers, vLLM or llama.cpp, or its licence. */
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
  // For sentence-transformers, the model is the first of its modules.
  /^(modules|config_sentence_transformers|sentence_\w+_config)\.json$/,
  // Code (`trust_remote_code`) under any name.
  /\.py$/,
  /^(LICEN[CS]E|NOTICE|USE_POLICY)/i,
];

const folders: readonly { readonly folder: RegExp; readonly file: RegExp }[] = [
  { folder: /^additional_chat_templates$/, file: /\.jinja$/ },
  // A sentence-transformers module: `1_Pooling/config.json`. Modules' weights are tensors of the model.
  { folder: moduleFolder, file: /^\w+\.json$/ },
];

const ofOtherFrameworks = /\.(onnx|h5|msgpack)$/;

const isAtTop = (name: string): boolean =>
  patterns.some((pattern) => pattern.test(name)) && !isWeightsName(name) && !ofOtherFrameworks.test(name);

const isInFolder = (folder: string, name: string): boolean =>
  folders.some((known) => known.folder.test(folder) && known.file.test(name));

/** Returns sorted names of side files, including `folder/name`; not weights, training state or model card. */
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
 * Returns sorted names of all other files, and of folders without side files (`NAME/`), without model card
 * and hidden files.
 *
 * @param own names of the checkpoint's side files, weights and the like
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

/** True for a tokenizer file; an adapter's tokenizer replaces the base's. */
export const isTokenizerFile = (name: string): boolean =>
  /^(tokenizer.*\.json|tokenizer\.model.*|special_tokens_map\.json|added_tokens\.json|vocab\.(json|txt)|merges\.txt|(spiece|sentencepiece.*)\.model|tekken\.json|.*\.tiktoken|chat_template\.json|.*\.jinja)$/.test(
    name,
  );

/** True if a hub file is downloaded with a model: its card and side files, but no code. */
export const isFetchedSideFile = (name: string): boolean =>
  name === cardName || (name.includes('/') ? isInOneFolder(name) : isAtTop(name) && !name.endsWith('.py'));

const isInOneFolder = (name: string): boolean => {
  const [folder = '', file = '', ...deeper] = name.split('/');
  return deeper.length === 0 && isInFolder(folder, file);
};

/**
 * True if a plan may write a side file of this name: it stays in the output's directory or a known folder,
 * and overwrites neither weights nor provenance.
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
    // Ignores case: on some file systems, names that differ only in case are one file.
    last.toLowerCase() !== provenanceName &&
    !isWeightsName(last.toLowerCase())
  );
};
