import { LayerloomError } from '../../../base/errors/errors.js';
import type { Recipe } from '../../../methods/recipe/recipe.js';
import {
  type VocabularyTensors,
  vocabularyTensors,
} from '../../../models/architecture/vocabulary-tensors.js';
import { idsOfUses, vocabularyEdits } from '../../../models/checkpoint/config/token-ids.js';
import { sideFileObject } from '../../../models/checkpoint/side-file-content.js';
import { TokenTexts } from '../../../models/tokenizer/files/token-texts.js';
import type { ModelTokens } from '../../../models/tokenizer/files/tokenizer.js';
import { someTokens } from '../../../models/tokenizer/files/words.js';
import { withoutTokenizer } from '../../../models/tokenizer/resolve-models.js';
import { subwordsOf } from '../../../models/tokenizer/subwords.js';
import { type TransplantedRows, transplantRows } from '../../../models/tokenizer/transplant.js';
import type { VocabularyTensor } from '../../in-vocabulary.js';
import type { Operand } from '../../plan.js';
import { type NewRows, transplantedTensor } from '../../transplanted.js';
import { at, type OpenedModel } from '../inputs/models.js';
import type { PlanningSession } from '../inputs/session.js';
import type { Edits } from './tokenizer-source.js';
import {
  type InVocabulary,
  inGeneration,
  moveOf,
  refuseUnmovable,
  storedTensor,
  tokenizerOf,
  withoutToken,
  withRows,
} from './vocabulary.js';

/**
 * Gives embeddings and head a row per donor token, and `config.json` the donor's ids.
 *
 * @throws VOCABULARY_UNMERGEABLE; INVALID_PARAMETER if fewer than `k` tokens are shared; and the codes of
 * `transplantRows` and of reading tokenizers
 */
export const transplanted = async (
  model: OpenedModel,
  donor: OpenedModel,
  { transplant: request }: Pick<Recipe, 'transplant'>,
  session: PlanningSession,
): Promise<InVocabulary> => {
  if (request === undefined) throw new Error('a recipe of no transplant');
  const ofModel = await vocabularyOf(model, session);
  const ofDonor = await vocabularyOf(donor, session);
  const texts = new TokenTexts(ofModel.tokens);
  const rows = transplantRows(texts, ofModel.tokens, ofDonor.tokens);
  const made: NewRows =
    request.rows === 'omp'
      ? pursuit({ model, donor, ofDonor: ofDonor.tensors, rows, k: request.k })
      : request.rows === 'subword'
        ? { kind: 'subword', means: await subwordsOf(tokenizerOf(model).checkpoint, texts, rows.lacking) }
        : { kind: request.rows };
  const move = moveOf(rows.own, ofModel.tensors.rows, rows.rows);
  const donated = donorIds(donor, ofDonor.tokens);
  const ofGeneration = await sideFileObject(donor.checkpoint, 'generation_config.json');
  const generated = { ...donated, ...idsOfUses(ofGeneration ?? {}) };
  const { checkpoint } = model;
  const { config, name } = checkpoint;
  const editsOf = (edits: Edits): Edits => vocabularyEdits({ ...config, ...edits }, move, donated);
  const operands = new Map<string, Operand>();
  const operandOf = (tensor: string): Operand | undefined => {
    if (!ofModel.tensors.names.has(tensor)) return model.operandOf(tensor);
    const operand =
      operands.get(tensor) ??
      transplantedTensor(storedTensor(model, tensor), rows, made, ofDonor.tensors.rows);
    operands.set(tensor, operand);
    return operand;
  };
  return {
    models: [
      {
        ...model,
        checkpoint: withRows(checkpoint, ofModel.tensors, rows.rows),
        generationEdits: inGeneration(model, move, generated),
        operandOf,
      },
    ],
    isDecided: true,
    tokenizer: tokenizerOf(donor),
    warnings: [
      ...rowless(ofDonor.tokens, rows, made),
      ...(config === undefined ? [] : withoutToken(name, config, editsOf({}))),
    ],
    configEdits: editsOf,
  };
};

/** Returns the donor's special token ids; its configuration overrides its tokenizer. */
const donorIds = ({ checkpoint: { config = {} } }: OpenedModel, { tokenizer }: ModelTokens): Edits => {
  const ofTokenizer = tokenizer.uses.map(([use, token]) => [`${use}_id`, tokenizer.ids.get(token) ?? null]);
  return {
    ...idsOfUses(Object.fromEntries(ofTokenizer)),
    ...idsOfUses(config),
  };
};

interface Vocabulary {
  readonly tensors: VocabularyTensors;
  readonly tokens: ModelTokens;
}

const vocabularyOf = async (model: OpenedModel, { tokenizers }: PlanningSession): Promise<Vocabulary> => {
  const { checkpoint, architecture, path } = model;
  try {
    const tensors = vocabularyTensors(checkpoint, architecture);
    if (tensors === undefined)
      throw new LayerloomError('VOCABULARY_UNMERGEABLE', {
        model: checkpoint.path,
        reason: 'has no embeddings of tokens that layerloom knows; give a language model',
      });
    refuseUnmovable(checkpoint.path, tensors, 'give a model without it');
    const { checkpoint: source, files } = tokenizerOf(model);
    if (files.length > 0)
      throw new LayerloomError('VOCABULARY_UNMERGEABLE', {
        model: checkpoint.path,
        reason: 'is a recipe that gives its output a new tokenizer; merge it first, in a step of its own',
      });
    const found = await tokenizers.filesOf(source);
    if (found === undefined) throw withoutTokenizer(source.path);
    const { name, path: directory } = checkpoint;
    const tokenizer = await tokenizers.read(source, found);
    return { tensors, tokens: { name, path: directory, rows: tensors.rows, tokenizer } };
  } catch (error) {
    throw at(error, path);
  }
};

interface PursuitInput {
  readonly model: OpenedModel;
  readonly donor: OpenedModel;
  readonly ofDonor: VocabularyTensors;
  readonly rows: TransplantedRows;
  readonly k: number;
}

/** @throws INVALID_PARAMETER if fewer than `k` tokens are shared */
const pursuit = ({ model, donor, ofDonor, rows: { shared, lacking }, k }: PursuitInput): NewRows => {
  const tokens = shared.reduce((total, [, , count]) => total + count, 0);
  if (lacking.length > 0 && k > tokens)
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'k',
      value: k,
      expected: `at most ${tokens}, as many tokens as ${model.checkpoint.name} and ${donor.checkpoint.name} share`,
    });
  return { kind: 'omp', k, of: (name) => donorTensor(model, donor, ofDonor, name) };
};

/** Returns the donor's tensor of the same role; its embeddings if it does not store a head. */
const donorTensor = (
  model: OpenedModel,
  donor: OpenedModel,
  { names }: VocabularyTensors,
  name: string,
): VocabularyTensor => {
  const { checkpoint, architecture } = donor;
  const role = model.architecture.places.get(name)?.role;
  const matrices = [...names].filter((one) => checkpoint.tensors.get(one)?.shape.length === 2);
  const ofRole = (wanted: string | undefined) =>
    matrices.find((one) => architecture.places.get(one)?.role === wanted);
  const found = matrices.includes(name)
    ? name
    : (ofRole(role) ?? (role === 'head' ? ofRole('embedding') : undefined));
  if (found === undefined)
    throw new LayerloomError('VOCABULARY_UNMERGEABLE', {
      model: checkpoint.path,
      reason: `has no tensor that corresponds to ${name} of ${model.checkpoint.path}, which rows: omp needs; use subword, mean or zero`,
    });
  return storedTensor(donor, found);
};

const rowless = ({ name, rows }: ModelTokens, { lacking }: TransplantedRows, made: NewRows): string[] => {
  const split = new Set(made.kind === 'subword' ? made.means.map(([id]) => id) : []);
  const without = lacking.filter(({ id }) =>
    made.kind === 'omp' ? id >= rows : made.kind === 'subword' && !split.has(id),
  );
  if (without.length === 0) return [];
  const tokens = someTokens(without.map(({ token }) => token));
  return made.kind === 'omp'
    ? [`${name} has only ${rows} rows, none for ${tokens}: the output has rows of 0 instead`]
    : [
        `the model's tokenizer splits ${tokens} of ${name} into tokens without rows: the output has rows of 0 instead`,
      ];
};
