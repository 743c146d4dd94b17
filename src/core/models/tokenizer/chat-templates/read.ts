import type { CheckpointIndex } from '../../checkpoint/checkpoint.js';
import { isObject } from '../../checkpoint/json.js';
import { type SideFilePlace, sideFileContent, sideFileObject } from '../../checkpoint/side-file-content.js';

/** The file of a chat template, since transformers 4.43. */
export const chatTemplateFile = 'chat_template.jinja';

/** What a chat template is found by. */
type Templates = SideFilePlace & Pick<CheckpointIndex, 'sideFiles'>;

/** Configurations that hold the chat template as a key, and those of a processor. */
const configurations = ['tokenizer_config.json', 'processor_config.json', 'chat_template.json'] as const;

/** Matches files that are nothing but a model's chat templates: an output with another one has none of them. */
export const onlyChatTemplates = /^(chat_template\.(jinja|json)|additional_chat_templates\/.*)$/;

/** True for a configuration in which a chat template may stand beside other keys. */
export const mayHoldChatTemplate = (name: string): boolean =>
  !onlyChatTemplates.test(name) && (configurations as readonly string[]).includes(name);

/**
 * Reads a checkpoint's chat template, as transformers finds it: the file of its own goes before the key of
 * `tokenizer_config.json`; of several named templates, the one named `default`.
 *
 * @throws LayerloomError READ_FAILED, and errors of JSON
 */
export const readChatTemplate = async (checkpoint: Templates): Promise<string | undefined> => {
  if (checkpoint.sideFiles.includes(chatTemplateFile))
    return (await sideFileContent(checkpoint, chatTemplateFile)).toString();
  for (const name of configurations) {
    const found = defaultOf((await sideFileObject(checkpoint, name))?.['chat_template']);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** Templates are one text, or a list of `{ name, template }`. */
const defaultOf = (templates: unknown): string | undefined => {
  const found: unknown = Array.isArray(templates)
    ? templates.filter(isObject).find(({ name }) => name === 'default')?.['template']
    : templates;
  return typeof found === 'string' && found.trim() !== '' ? found : undefined;
};

/**
 * Returns the template that most of the checkpoints have, white space around it aside, as mergekit's `auto`
 * counts: each checkpoint once, those without a template not at all. Of several that are equally common, the
 * first (mergekit's choice depends on the order of a set). Undefined where none has one.
 */
export const commonestChatTemplate = async (
  checkpoints: readonly Templates[],
): Promise<string | undefined> => {
  const distinct = new Map(checkpoints.map((checkpoint) => [checkpoint.path, checkpoint]));
  const counts = new Map<string, number>();
  for (const checkpoint of distinct.values()) {
    const text = (await readChatTemplate(checkpoint))?.trim();
    if (text !== undefined) counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const most = Math.max(...counts.values());
  return [...counts].find(([, count]) => count === most)?.[0];
};
