import { LayerloomError } from '../../base/errors/errors.js';
import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { itemAt } from '../../base/errors/lookup.js';
import { optionName } from '../../base/errors/option-name.js';
import { autoTokens } from './auto.js';
import { type TokenizerFiles, TokenizerReader } from './files/read-tokenizer.js';
import { endOf, type ModelTokens, tokenDifferences } from './files/tokenizer.js';
import { resolveModels, type VocabularyModel, withoutTokenizer } from './resolve-models.js';
import { rowsOf } from './rows.js';
import { tokenFiles } from './token-files.js';
import { type OutputTokens, tokensOf, uniteTokens } from './unite.js';
import type { MergedVocabulary, TokenizerRequest } from './vocabulary.js';
import { missingWarnings, movedWarnings, rowlessWarnings, rowsWarning } from './warnings.js';

export type { VocabularyModel } from './resolve-models.js';

/**
 * Returns a merge's vocabulary: tokens, rows of the embeddings, and changed tokenizer files. Undefined if
 * nothing changes.
 *
 * @param models the merged models, then companions such as the base
 * @throws TOKENIZER_MISMATCH, TOKENIZER_UNSUPPORTED, INVALID_PARAMETER, READ_FAILED, CONFIG_INVALID
 */
export const mergeVocabularies = async (
  models: readonly VocabularyModel[],
  request: TokenizerRequest,
  tokenizers = new TokenizerReader(),
): Promise<MergedVocabulary | undefined> => {
  const { source } = request;
  const adds = request.tokens.size > 0 || request.padToMultipleOf !== undefined;
  const keepsRows = source === 'auto' || source === 'strict' || source === 'rows';
  if (models.length === 1 && keepsRows && !adds) return undefined;
  const found = await Promise.all(models.map(({ checkpoint }) => tokenizers.filesOf(checkpoint)));
  const hashes = new Set(found.flatMap((files) => files?.hash ?? []));
  const rows = new Set(models.map((model) => model.rows));
  const areEqual = hashes.size <= 1 && rows.size === 1 && !adds;
  // SentencePiece files do not state the number of tokens, so it is assumed to be the number of rows.
  const isOpaque = found.every((files) => files === undefined || files.form === 'tokenizer.model');
  if (areEqual && (keepsRows || (isOpaque && hashes.size === 1))) return undefined;
  if (source === 'rows') return await mergeByNumbers(models, adds, tokenizers);

  const reference = keepsRows ? firstReadable(found) : (request.base ?? 0);
  const donated = typeof source === 'number' ? source : reference;
  if (found[donated] === undefined) throw withoutTokenizer(itemAt(models, donated).checkpoint.path);
  const resolved = await resolveModels(models, { reference, assumes: keepsRows }, tokenizers);
  if (source === 'strict') checkEqual(resolved.models);
  const { donor, tokens } = outputTokens(resolved.models, request, reference);
  const end = endOf(tokens.ids);
  const padFrom = keepsRows ? Math.max(end, ...rows) : end;
  const total = roundUp(padFrom, request.padToMultipleOf);
  const made = rowsOf(resolved.models, tokens.ids, padFrom, request);
  const files = await tokenFiles(itemAt(models, donor).checkpoint, tokens);
  const warnings = [
    ...resolved.warnings,
    ...rowlessWarnings(resolved.models, donor),
    ...tokens.warnings,
    ...rowsWarning(resolved.models, total),
    ...movedWarnings(resolved.models, tokens.ids),
    ...missingWarnings(resolved.models, made.missing),
  ];
  const merged = { rows: total, padFrom, models: made.models, donor, files, warnings };
  return changesNothing(models, merged) && warnings.length === 0 ? undefined : merged;
};

const firstReadable = (found: readonly (TokenizerFiles | undefined)[]): number => {
  const first = found.findIndex((files) => files !== undefined && files.form !== 'tokenizer.model');
  return Math.max(0, first < 0 ? found.findIndex((files) => files !== undefined) : first);
};

const outputTokens = (
  models: readonly ModelTokens[],
  { source, tokens }: TokenizerRequest,
  reference: number,
): { readonly donor: number; readonly tokens: OutputTokens } => {
  const wanted = tokens.keys();
  if (source === 'auto' || source === 'strict') return autoTokens(models, reference, wanted);
  if (source === 'union') return { donor: reference, tokens: uniteTokens(models, reference, wanted) };
  const donor = typeof source === 'number' ? source : reference;
  return { donor, tokens: tokensOf(itemAt(models, donor), source === 'base', wanted) };
};

const mergeByNumbers = async (
  models: readonly VocabularyModel[],
  adds: boolean,
  tokenizers: TokenizerReader,
): Promise<MergedVocabulary | undefined> => {
  if (adds)
    throw invalidParameter(
      'tokenizer.source',
      'rows',
      'union, base or a model, for tokens and padding to be added',
    );
  const { rows } = itemAt(models, 0);
  if (models.some((model) => model.rows !== rows)) return undefined;
  const readable = await Promise.all(
    models.map(async (model) => {
      const files = await tokenizers.filesOf(model.checkpoint);
      return files === undefined || files.form === 'tokenizer.model' ? [] : [model];
    }),
  );
  const [first, ...others] =
    readable.flat().length === 0
      ? []
      : (await resolveModels(readable.flat(), { reference: 0, assumes: true }, tokenizers)).models;
  const warnings = others.flatMap((other) => {
    const [difference, ...further] =
      first === undefined ? [] : tokenDifferences(first.tokenizer.ids, other.tokenizer.ids);
    return difference === undefined || first === undefined
      ? []
      : [
          `${other.name} and ${first.name} number ${further.length + 1} tokens differently (${difference}${further.length === 0 ? '' : ', …'}); rows are merged by their numbers`,
        ];
  });
  if (warnings.length === 0) return undefined;
  const own = { own: [[0, 0, rows] as const], fills: [] };
  return { rows, padFrom: rows, models: models.map(() => own), donor: 0, files: [], warnings };
};

const checkEqual = (models: readonly ModelTokens[]): void => {
  const first = itemAt(models, 0);
  for (const other of models) {
    const tokens = [
      ...(other.rows === first.rows ? [] : [`embeddings of ${other.rows} rows against ${first.rows}`]),
      ...(other.tokenizer === first.tokenizer
        ? []
        : tokenDifferences(other.tokenizer.ids, first.tokenizer.ids)),
    ];
    if (tokens.length > 0)
      throw new LayerloomError('TOKENIZER_MISMATCH', {
        first: first.path,
        other: other.path,
        tokens,
        remedy: `Merge experts of one tokenizer, or leave the choice to ${optionName('tokenizer', 'auto')}`,
      });
  }
};

const roundUp = (rows: number, multiple = 1): number => Math.ceil(rows / multiple) * multiple;

const changesNothing = (models: readonly VocabularyModel[], merged: MergedVocabulary): boolean =>
  merged.files.length === 0 &&
  merged.padFrom === merged.rows &&
  merged.models.every(({ own, fills }, index) => {
    const [[to, from, count] = [-1, -1, -1], ...more] = own;
    const { rows } = itemAt(models, index);
    return (
      rows === merged.rows && to === 0 && from === 0 && count === rows && more.length + fills.length === 0
    );
  });
