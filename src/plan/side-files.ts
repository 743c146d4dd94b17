import { join } from 'node:path';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { editConfig, withoutKey } from '../checkpoint/config.js';
import { checkSideFile, readSideFile } from '../checkpoint/small-file.js';
import { itemAt } from '../lookup.js';
import { checkChatTemplate } from '../tokenizer/chat-templates/chat-template.js';
import {
  chatTemplateFile,
  commonestChatTemplate,
  mayHoldChatTemplate,
  onlyChatTemplates,
} from '../tokenizer/chat-templates/read.js';
import type { Composed } from './composed.js';
import type { PlannedFile } from './plan.js';

/** Matches the names of a tokenizer's files. */
const tokenizerFile =
  /^(tokenizer(_config)?\.json|tokenizer\.model(\.v\d+)?|special_tokens_map\.json|added_tokens\.json|vocab\.(json|txt)|merges\.txt|spiece\.model|sentencepiece\.bpe\.model|tekken\.json|chat_template\.(jinja|json))$/;

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
  ];
};

/**
 * The text of the output's chat template, where it is not that of the model whose tokenizer it gets. Of templates
 * that are equally common, that model's goes first.
 *
 * @throws LayerloomError TEMPLATE_INVALID
 */
const chatTemplateFor = async (composed: Composed): Promise<string | undefined> => {
  const { recipe, models, companions } = composed;
  const { chatTemplate } = recipe;
  const donor = tokenizerOf(composed);
  if (chatTemplate === 'auto')
    return await commonestChatTemplate([
      ...(donor === undefined ? [] : [donor]),
      ...[...models, ...companions].map(({ checkpoint }) => checkpoint),
    ]);
  if (chatTemplate !== undefined) await checkChatTemplate(chatTemplate);
  return chatTemplate;
};

/** Those that were found sound: a batch plans many merges of one checkpoint. */
const sound = new WeakMap<CheckpointIndex, Set<string>>();

/**
 * Refuses before any weight is read what could not be copied in the end, and a chat template with an error.
 *
 * @throws LayerloomError READ_FAILED, TEMPLATE_INVALID
 */
export const checkSideFiles = async (composed: Composed): Promise<void> => {
  await chatTemplateFor(composed);
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
  const template = await chatTemplateFor(composed);
  const files = await Promise.all(
    sideFilesOf(composed)
      .filter(([, name]) => template === undefined || !onlyChatTemplates.test(name))
      .map(async ([{ path, config }, name]): Promise<PlannedFile> => {
        const file = join(path, name);
        const text = async () => (await readSideFile(file)).toString();
        if (name === 'config.json' && config !== undefined) {
          const given = await text();
          const written = JSON.parse(given) as Record<string, unknown>;
          return { name, text: editConfig(given, written, recipe.dtype, configEdits) };
        }
        // A key beside the file would contradict it: processors read the key, tokenizers the file.
        if (template !== undefined && mayHoldChatTemplate(name))
          return { name, text: withoutKey(await text(), 'chat_template') };
        return { name, copyOf: file };
      }),
  );
  return template === undefined ? files : [...files, { name: chatTemplateFile, text: template }];
};

/** Returns the model whose tokenizer files the recipe asks for; vocabularies have been found to agree. */
const tokenizerOf = ({ recipe: { tokenizer }, models, companions }: Composed): CheckpointIndex | undefined =>
  tokenizer === undefined ? undefined : itemAt([...models, ...companions], tokenizer).checkpoint;
