import { LayerloomError, reasonOf } from '../../../core/base/errors/errors.js';
import { nearest } from '../../../core/base/nearest.js';
import { readSmallFile } from '../../../core/models/checkpoint/files/small-file.js';
import {
  chatTemplateNames,
  chatTemplateOf,
  checkChatTemplate,
} from '../../../core/models/tokenizer/chat-templates/chat-template.js';

const largest = 1_000_000;

/**
 * Returns the template for an option's value. For a path, this is the content of the file; a name or a text
 * is returned unchanged.
 *
 * @throws INVALID_PARAMETER for other values, TEMPLATE_INVALID if the text has an error
 */
export const chatTemplateOption = async (value: string | undefined): Promise<string | undefined> => {
  if (value === undefined || chatTemplateOf(value) !== undefined) return value;
  const refuse = (what: string, cause?: unknown) =>
    new LayerloomError(
      'INVALID_PARAMETER',
      {
        parameter: 'chatTemplate',
        value,
        expected: `${chatTemplateNames.join(', ')} or the file of a Jinja template (${what})`,
        nearest: nearest(value, chatTemplateNames),
      },
      { cause, context: { option: '--chat-template' } },
    );
  let text: string;
  try {
    text = (await readSmallFile(value, { most: largest, what: 'a chat template', pipes: true })).toString();
  } catch (cause) {
    throw refuse(reasonOf(cause), cause);
  }
  if (!text.includes('{')) throw refuse('the file has no Jinja tag, so its text would be the whole prompt');
  // Checks the template here, so that errors name the option and not the recipe's file.
  await checkChatTemplate(text).catch((error: unknown) => {
    throw error instanceof LayerloomError ? error.with({ option: '--chat-template' }) : error;
  });
  return text;
};
