import { LayerloomError, reasonOf } from '../../../base/errors/errors.js';
import { ownValue } from '../../../base/errors/lookup.js';
import { chatTemplates } from './formats.js';

/** The end of "expected …" in messages. */
export const chatTemplateWords = `auto, ${Object.keys(chatTemplates).join(', ')}, or a template's text (Jinja, with a {)`;

/** Values that name a template and are not its text. */
export const chatTemplateNames: readonly string[] = ['auto', ...Object.keys(chatTemplates)];

/** Returns `auto` or a template's text (with `{`) for `chatTemplate`; undefined for unknown names. */
export const chatTemplateOf = (value: unknown): string | undefined => {
  if (typeof value !== 'string') return undefined;
  if (value === 'auto' || value.includes('{')) return value;
  return ownValue(chatTemplates, value);
};

/** Constructs of jinja2 that the parser lacks; templates with them are not checked. */
const unknownToParser =
  /\{%[-+]?\s*(raw|with|autoescape|block|extends|include|import|from)\b|\brecursive\s*[-+]?%\}|\bdivisibleby\s+\d/;

/**
 * Maximum characters of a template, ten times the longest in use: the parser takes two seconds per megabyte.
 */
const mostCharacters = 300_000;

/**
 * Refuses a template that transformers could not compile.
 *
 * @throws TEMPLATE_INVALID with the parser's reason
 */
export const checkChatTemplate = async (text: string): Promise<void> => {
  // Cuts long white space, which means nothing: the parser is quadratic in its length.
  const parsed = text.replace(/\s{64,}/g, (space) => space.slice(0, 64));
  if (parsed.length > mostCharacters) throw invalidTemplate(`has more than ${mostCharacters} characters`);
  if (unknownToParser.test(parsed)) return;
  const { Template } = await import('@huggingface/jinja');
  try {
    new Template(parsed);
  } catch (cause) {
    throw invalidTemplate(reasonFor(cause), cause);
  }
};

const reasonFor = (cause: unknown): string => {
  // If a block has no end, the parser reads past the last token; nested blocks may exceed the stack.
  if (cause instanceof TypeError) return 'a block (if, for, …) has no end';
  return cause instanceof RangeError ? 'it is nested too deeply' : reasonOf(cause);
};

const invalidTemplate = (reason: string, cause?: unknown): LayerloomError =>
  new LayerloomError(
    'TEMPLATE_INVALID',
    { parameter: 'chatTemplate', reason },
    { cause, context: { recipePath: ['chatTemplate'] } },
  );
