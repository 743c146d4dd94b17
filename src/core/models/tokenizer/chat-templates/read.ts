import type { CheckpointIndex } from '../../checkpoint/checkpoint.js';
import { isObject } from '../../checkpoint/files/json.js';
import { type SideFilePlace, sideFileContent, sideFileObject } from '../../checkpoint/side-file-content.js';

/** File of the chat template since transformers 4.43. */
export const chatTemplateFile = 'chat_template.jinja';

type Templates = SideFilePlace & Pick<CheckpointIndex, 'sideFiles'>;

const configurations = ['tokenizer_config.json', 'processor_config.json', 'chat_template.json'] as const;

/** Files that contain only chat templates; an output with another template omits them. */
export const onlyChatTemplates = /^(chat_template\.(jinja|json)|additional_chat_templates\/.*)$/;

/** True for a configuration that may hold a chat template beside other keys. */
export const mayHoldChatTemplate = (name: string): boolean =>
  !onlyChatTemplates.test(name) && (configurations as readonly string[]).includes(name);

/**
 * Reads a checkpoint's chat template like transformers: from its own file, otherwise from a configuration
 * such as `tokenizer_config.json`. Takes `default` among several.
 *
 * @throws READ_FAILED, and JSON errors
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

/** Returns the names of a checkpoint's chat templates other than the default. @throws READ_FAILED, JSON errors */
export const namedChatTemplates = async (checkpoint: Templates): Promise<string[]> => {
  const inFolder = checkpoint.sideFiles.flatMap(
    (name) => /^additional_chat_templates\/(.+)\.jinja$/.exec(name)?.[1] ?? [],
  );
  const read = async (file: string) => (await sideFileObject(checkpoint, file))?.['chat_template'];
  const lists = (await Promise.all(configurations.map(read))).filter(Array.isArray).flat();
  const names = lists.filter(isObject).map(({ name }) => String(name));
  return [...new Set([...inFolder, ...names])].filter((name) => name !== 'default').sort();
};

/** Returns the default of templates given as text, or as a list of `{ name, template }`. */
const defaultOf = (templates: unknown): string | undefined => {
  const found: unknown = Array.isArray(templates)
    ? templates.filter(isObject).find(({ name }) => name === 'default')?.['template']
    : templates;
  return typeof found === 'string' && found.trim() !== '' ? found : undefined;
};

/**
 * Returns the commonest template, like mergekit's `auto`, ignoring white space around it. Counts each
 * checkpoint with a template once. The first wins a tie; in mergekit, the order of a set decides.
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
