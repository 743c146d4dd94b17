import { LayerloomError } from '../../base/errors.js';
import { type EvaluationBlock, parseEvaluation } from '../../evaluation/settings.js';
import { type Layout, parseShardSize } from '../../plan/layout.js';
import { expectMapping } from '../../recipe/fields.js';
import { invalid } from '../../recipe/invalid.js';
import { sourceWords } from '../../recipe/model-places.js';
import { nearest } from '../../recipe/nearest.js';
import { withPlace } from '../../recipe/read-recipe.js';
import { locationOf } from '../../recipe/source.js';
import { isText, locate, type MappingEntry, type Text, type Tree, toPlain } from '../../recipe/tree.js';
import { parseDtype } from '../../tensor/dtype.js';
import { parseSearchBlock, type SearchBlock } from './search-block.js';

// Settings of an experiment that apply to all its merges. Each parser returns undefined if the experiment has
// no such setting.

export const expectText = (tree: Tree, key: string, expected: string): Text => {
  if (isText(tree) && tree.value !== '') return tree;
  throw invalid(tree.mark, { key, reason: 'not text', expected });
};

/**
 * Checks `evaluate:`. A relative `data` is made absolute, since the settings are used elsewhere later.
 *
 * @returns the settings as the experiment has them; of another harness, unchecked
 */
export const evaluationOf = (
  entry: MappingEntry | undefined,
  languages: readonly string[],
  directory: string,
): EvaluationBlock | undefined => {
  if (entry === undefined) return undefined;
  const given = expectMapping(entry.value, 'evaluate', 'tasks, fewshot, …');
  const harness = given.entries.get('harness');
  if (harness !== undefined && expectText(harness.value, 'harness', 'lm-eval').value !== 'lm-eval')
    return toPlain(given) as EvaluationBlock;
  const tasks = given.entries.get('tasks');
  // Other languages may be measured too (English), so only a near miss of one of the experiment's own is
  // refused.
  for (const [language, { key }] of tasks === undefined
    ? []
    : expectMapping(tasks.value, 'tasks', 'a task for each language').entries) {
    const meant = languages.includes(language) ? undefined : nearest(language, languages);
    if (meant !== undefined)
      throw invalid(key, { key: language, reason: 'not a language of the experiment', nearest: meant });
  }
  const plain = toPlain(given) as EvaluationBlock;
  try {
    const { data } = parseEvaluation(plain, directory);
    return data === undefined ? plain : { ...plain, data };
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    throw withPlace(error, {
      locate: (path, part) => locate(given, path.slice(1), part),
    });
  }
};

/** Checks `search:`. */
export const searchBlockOf = (entry: MappingEntry | undefined): SearchBlock | undefined => {
  if (entry === undefined) return undefined;
  const given = expectMapping(entry.value, 'search', 'strategy, budget, …');
  try {
    return parseSearchBlock(toPlain(given));
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    throw withPlace(error, { locate: (path, part) => locate(given, path.slice(1), part) });
  }
};

export const flagOf = (entry: MappingEntry | undefined, key: string): boolean | undefined => {
  if (entry === undefined) return undefined;
  const { value } = entry;
  if (value.kind === 'leaf' && typeof value.value === 'boolean') return value.value;
  throw invalid(value.mark, { key, reason: 'neither true nor false' });
};

export const dtypeOf = (entry: MappingEntry | undefined): string | undefined => {
  if (entry === undefined) return undefined;
  const { value, mark } = expectText(entry.value, 'dtype', 'bfloat16, float32, …');
  if (parseDtype(value) === undefined)
    throw invalid(mark, {
      key: value,
      reason: 'not a dtype of weights',
      expected: 'bfloat16, float16, float32, …',
    });
  return value;
};

/** Models differ from merge to merge, so that none can be named for all. */
export const tokenizerSourceOf = (entry: MappingEntry | undefined): string | undefined => {
  if (entry === undefined) return undefined;
  const expected = 'auto, strict, union or base';
  const { value, mark } = expectText(entry.value, 'tokenizer_source', expected);
  if (sourceWords.has(value)) return value;
  throw invalid(mark, { key: value, reason: 'no tokenizer source of an experiment', expected });
};

export const layoutOf = (entry: MappingEntry | undefined): Layout | undefined => {
  if (entry === undefined) return undefined;
  const { value, mark } = expectText(entry.value, 'layout', 'layer or size');
  if (value === 'layer' || value === 'size') return value;
  throw invalid(mark, { key: value, reason: 'not a layout', expected: 'layer or size' });
};

export const shardSizeOf = (entry: MappingEntry | undefined): string | number | undefined => {
  if (entry === undefined) return undefined;
  const { value: tree } = entry;
  const size = tree.kind === 'leaf' ? tree.value : undefined;
  try {
    parseShardSize(size as string | number);
    return size as string | number;
  } catch (error) {
    throw error instanceof LayerloomError ? error.with({ place: locationOf(tree.mark) }) : error;
  }
};
