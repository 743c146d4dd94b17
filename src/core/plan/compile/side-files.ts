import { itemAt } from '../../base/errors/lookup.js';
import type { CheckpointIndex } from '../../models/checkpoint/checkpoint.js';
import { editConfig, withoutKey } from '../../models/checkpoint/config/config.js';
import { parseJsonObject } from '../../models/checkpoint/files/json.js';
import { checkSideFile } from '../../models/checkpoint/files/small-file.js';
import { carriedText, sideFileContent, sideFilePath } from '../../models/checkpoint/side-file-content.js';
import { isTokenizerFile } from '../../models/checkpoint/side-files.js';
import { checkChatTemplate } from '../../models/tokenizer/chat-templates/chat-template.js';
import {
  chatTemplateFile,
  commonestChatTemplate,
  mayHoldChatTemplate,
  onlyChatTemplates,
} from '../../models/tokenizer/chat-templates/read.js';
import type { PlannedFile } from '../plan.js';
import type { Composed } from './composed.js';
import type { Cached, PlanningSession } from './inputs/session.js';

/** True for settings of ModelOpt or GPTQ that would contradict the output's `config.json`. */
const isToldInConfig = (
  { storedDtype }: Composed,
  { quantisation }: CheckpointIndex,
  name: string,
): boolean =>
  (quantisation !== undefined && name === 'hf_quant_config.json') ||
  (storedDtype !== undefined && name === 'quantize_config.json');

/** Code of tokenizers, which `auto_map` in `tokenizer_config.json` names. */
const isTokenizerCode = (name: string): boolean => /^tokeni[sz]\w*\.py$/.test(name);

/**
 * Returns the first model's side files; tokenizer files and code come from the model that the recipe chooses.
 */
const sideFilesOf = (composed: Composed): (readonly [CheckpointIndex, string])[] => {
  const donor = itemAt(composed.models, 0).checkpoint;
  const { checkpoint: tokenizer, files } = composed.tokenizer;
  const isOwn = tokenizer.path === donor.path;
  const isWritten = (name: string) => files.some((file) => file.name === name);
  const hasCode = tokenizer.sideFiles.some(isTokenizerCode);
  // Code may import other code, which replaces no code of the first model.
  const isNeeded = (name: string) => hasCode && name.endsWith('.py') && !donor.sideFiles.includes(name);
  const chosen = tokenizer.sideFiles.filter(
    (name) => !isOwn && (isTokenizerFile(name) || isTokenizerCode(name) || isNeeded(name)),
  );
  return [
    ...donor.sideFiles
      .filter((name) => isOwn || !(isTokenizerFile(name) || chosen.includes(name)))
      .map((name) => [donor, name] as const),
    ...chosen.map((name) => [tokenizer, name] as const),
  ].filter(([of, name]) => !isWritten(name) && !isToldInConfig(composed, of, name));
};

/**
 * Returns the output's chat template. `auto` takes the commonest; in a tie, the tokenizer's model decides.
 */
const chatTemplateFor = async (composed: Composed): Promise<string | undefined> => {
  const { recipe, models, companions, tokenizer } = composed;
  const { chatTemplate } = recipe;
  if (chatTemplate === 'auto')
    return await commonestChatTemplate([
      tokenizer.checkpoint,
      ...[...models, ...companions].map(({ checkpoint }) => checkpoint),
    ]);
  if (chatTemplate !== undefined) await checkChatTemplate(chatTemplate);
  return chatTemplate;
};

const sound: Cached<Promise<void>> = { most: 4096 };

/**
 * Checks side files before weights are read.
 *
 * @throws READ_FAILED, TEMPLATE_INVALID
 */
export const checkSideFiles = async (composed: Composed, session: PlanningSession): Promise<void> => {
  await chatTemplateFor(composed);
  for (const [checkpoint, name] of sideFilesOf(composed))
    if (carriedText(checkpoint, name) === undefined)
      await session.remember(sound, [session.idOf(checkpoint), name], () =>
        checkSideFile(sideFilePath(checkpoint, name)),
      );
};

export const planSideFiles = async (composed: Composed, session: PlanningSession): Promise<PlannedFile[]> => {
  await checkSideFiles(composed, session);
  const template = await chatTemplateFor(composed);
  const isKept = (name: string) => template === undefined || !onlyChatTemplates.test(name);
  // Beside a new template file, processors would read the old key.
  const mustLoseKey = (name: string) => template !== undefined && mayHoldChatTemplate(name);
  const edited = (name: string, text: string): string =>
    mustLoseKey(name) ? withoutKey(text, 'chat_template') : text;
  const copies = await Promise.all(
    sideFilesOf(composed)
      .filter(([, name]) => isKept(name))
      .map(async ([checkpoint, name]): Promise<PlannedFile> => {
        const carried = carriedText(checkpoint, name);
        const asItIs = carried === undefined ? { copyOf: sideFilePath(checkpoint, name) } : { text: carried };
        if (!configurations.includes(name) && !mustLoseKey(name)) return { name, ...asItIs };
        const given = (await sideFileContent(checkpoint, name)).toString();
        const file = { name, text: given, path: sideFilePath(checkpoint, name) };
        const text = edited(name, editedConfig(composed, checkpoint, file));
        return text === given && name !== 'config.json' ? { name, ...asItIs } : { name, text };
      }),
  );
  const written = composed.tokenizer.files
    .filter(({ name }) => isKept(name))
    .map(({ name, text }): PlannedFile => ({ name, text: edited(name, text) }));
  return [
    ...copies,
    ...written,
    ...(template === undefined ? [] : [{ name: chatTemplateFile, text: template }]),
  ];
};

const configurations = ['config.json', 'generation_config.json'];

/**
 * Returns a configuration's edited text. Compares with the file, because the object may already be edited.
 */
const editedConfig = (
  { recipe, configEdits, storedDtype, generationEdits }: Composed,
  checkpoint: CheckpointIndex,
  { name, text, path }: { readonly name: string; readonly text: string; readonly path: string },
): string => {
  if (name === 'config.json' && checkpoint.config !== undefined)
    return editConfig(text, parseJsonObject(text, path), recipe.dtype ?? storedDtype, configEdits);
  if (name !== 'generation_config.json') return text;
  const given = parseJsonObject(text, path);
  const edits = generationEdits(given);
  return Object.keys(edits).length === 0 ? text : editConfig(text, given, undefined, edits);
};
