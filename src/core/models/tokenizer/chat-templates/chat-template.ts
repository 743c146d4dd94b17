import { LayerloomError, reasonOf } from '../../../base/errors.js';
import { ownValue } from '../../../base/lookup.js';
import { chatTemplates } from './formats.js';

/** Words for the values of a chat template, which end "expected …". */
export const chatTemplateWords = `auto, ${Object.keys(chatTemplates).join(', ')}, or a template's text (Jinja, with a {)`;

/** The values of a chat template that are no template's text. */
export const chatTemplateNames: readonly string[] = ['auto', ...Object.keys(chatTemplates)];

/**
 * Returns `auto` or a template's text (which always has a `{`) for the value of a recipe's `chatTemplate`;
 * undefined for one that is neither a known name nor a template.
 */
export const chatTemplateOf = (value: unknown): string | undefined => {
  if (typeof value !== 'string') return undefined;
  if (value === 'auto' || value.includes('{')) return value;
  return ownValue(chatTemplates, value);
};

/**
 * Matches what jinja2 accepts and the parser below does not know. Templates with it are not checked, since no
 * good template may be refused.
 */
const unknownToParser =
  /\{%[-+]?\s*(raw|with|autoescape|block|extends|include|import|from)\b|\brecursive\s*[-+]?%\}|\bdivisibleby\s+\d/;

/** Limit on a template, long spaces aside: ten times the longest that models have; the parser takes two seconds a megabyte. */
const mostCharacters = 300_000;

/**
 * Refuses a template that transformers could not compile.
 *
 * @throws LayerloomError TEMPLATE_INVALID with the parser's reason
 */
export const checkChatTemplate = async (text: string): Promise<void> => {
  // The parser's time is quadratic in the length of white space, and any length means the same to it.
  const parsed = text.replace(/\s{64,}/g, (space) => space.slice(0, 64));
  if (parsed.length > mostCharacters) throw invalid(`has more than ${mostCharacters} characters`);
  if (unknownToParser.test(parsed)) return;
  const { Template } = await import('@huggingface/jinja');
  try {
    new Template(parsed);
  } catch (cause) {
    throw invalid(reasonFor(cause), cause);
  }
};

const reasonFor = (cause: unknown): string => {
  // The parser reads past the last token where a block has no end, and calls itself for each that is in another.
  if (cause instanceof TypeError) return 'a block (if, for, …) has no end';
  return cause instanceof RangeError ? 'it is nested too deeply' : reasonOf(cause);
};

const invalid = (reason: string, cause?: unknown): LayerloomError =>
  new LayerloomError(
    'TEMPLATE_INVALID',
    { parameter: 'chatTemplate', reason },
    { cause, context: { recipePath: ['chatTemplate'] } },
  );
