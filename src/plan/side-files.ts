import { join } from 'node:path';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { editConfig } from '../checkpoint/config.js';
import { checkSideFile, readSideFile } from '../checkpoint/small-file.js';
import { itemAt } from '../lookup.js';
import type { Composed } from './composed.js';
import type { PlannedFile } from './plan.js';

/** Matches the names of a tokenizer's files. */
const tokenizerFile =
  /^(tokenizer(_config)?\.json|tokenizer\.model(\.v\d+)?|special_tokens_map\.json|added_tokens\.json|vocab\.(json|txt)|merges\.txt|spiece\.model|sentencepiece\.bpe\.model|tekken\.json|chat_template\.(jinja|json))$/;

const templateFile = 'chat_template.jinja';

/**
 * The side files that an output has from its models: all of the first one's, but for the tokenizer's where
 * the recipe asks for another's.
 */
const sideFilesOf = (composed: Composed): (readonly [CheckpointIndex, string])[] => {
  const donor = itemAt(composed.models, 0).checkpoint;
  const tokenizer = tokenizerOf(composed) ?? donor;
  return [
    ...donor.sideFiles
      .filter((name) => tokenizer === donor || !tokenizerFile.test(name))
      .map((name) => [donor, name] as const),
    ...(tokenizer === donor ? [] : tokenizer.sideFiles.filter((name) => tokenizerFile.test(name))).map(
      (name) => [tokenizer, name] as const,
    ),
  ].filter(([, name]) => composed.recipe.chatTemplate === undefined || name !== templateFile);
};

/** Those that were found sound: a batch plans many merges of one checkpoint. */
const sound = new WeakMap<CheckpointIndex, Set<string>>();

/**
 * Refuses before any weight is read what could not be copied in the end.
 *
 * @throws LayerloomError READ_FAILED
 */
export const checkSideFiles = async (composed: Composed): Promise<void> => {
  for (const [checkpoint, name] of sideFilesOf(composed)) {
    const known = sound.get(checkpoint) ?? new Set();
    sound.set(checkpoint, known);
    if (!known.has(name)) await checkSideFile(join(checkpoint.path, name));
    known.add(name);
  }
};

/** Plans the files beside the weights that come from the models, and a chat template of the recipe's. */
export const planSideFiles = async (composed: Composed): Promise<PlannedFile[]> => {
  const { recipe, configEdits } = composed;
  await checkSideFiles(composed);
  const files = await Promise.all(
    sideFilesOf(composed).map(async ([{ path, config }, name]): Promise<PlannedFile> => {
      const file = join(path, name);
      if (name !== 'config.json' || config === undefined) return { name, copyOf: file };
      const text = (await readSideFile(file)).toString();
      const written = JSON.parse(text) as Record<string, unknown>;
      return { name, text: editConfig(text, written, recipe.dtype, configEdits) };
    }),
  );
  return recipe.chatTemplate === undefined
    ? files
    : [...files, { name: templateFile, text: recipe.chatTemplate }];
};

/** Returns the model whose tokenizer files the recipe asks for; vocabularies have been found to agree. */
const tokenizerOf = ({ recipe: { tokenizer }, models, companions }: Composed): CheckpointIndex | undefined =>
  tokenizer === undefined ? undefined : itemAt([...models, ...companions], tokenizer).checkpoint;
