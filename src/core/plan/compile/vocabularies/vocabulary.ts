import { argument, layerloomCommand } from '../../../base/errors/command-line.js';
import { LayerloomError } from '../../../base/errors/errors.js';
import { itemAt, valueAt } from '../../../base/errors/lookup.js';
import type { Recipe } from '../../../methods/recipe/recipe.js';
import {
  type VocabularyTensors,
  vocabularyTensors,
} from '../../../models/architecture/vocabulary-tensors.js';
import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';
import {
  idsOfUses,
  type TokenMove,
  unmoved,
  vocabularyEdits,
} from '../../../models/checkpoint/config/token-ids.js';
import { isObject } from '../../../models/checkpoint/files/json.js';
import { sideFileObject } from '../../../models/checkpoint/side-file-content.js';
import { isTokenizerFile } from '../../../models/checkpoint/side-files.js';
import type { TokenizerReader } from '../../../models/tokenizer/files/read-tokenizer.js';
import { mergeVocabularies } from '../../../models/tokenizer/merge-vocabularies.js';
import type { MergedVocabulary, RowRun, TokenizerRequest } from '../../../models/tokenizer/vocabulary.js';
import { inVocabulary, isUnmoved, type VocabularyTensor } from '../../in-vocabulary.js';
import { isStored } from '../../operands.js';
import type { Operand } from '../../plan.js';
import type { OpenedModel } from '../inputs/models.js';
import type { Cached, PlanningSession } from '../inputs/session.js';
import type { Edits, TokenizerSource } from './tokenizer-source.js';

export interface InVocabulary {
  readonly models: readonly OpenedModel[];
  /** True if later checks need not compare tokens. */
  readonly isDecided: boolean;
  readonly tokenizer: TokenizerSource;
  readonly warnings: readonly string[];
  /** Changes to the first model's `config.json`, after earlier ones. */
  readonly configEdits: (edits: Edits) => Edits;
}

const vocabularies: Cached<Promise<MergedVocabulary | undefined>> = { most: 256 };

/**
 * Gives every model the output's rows, and the ids for `config.json`.
 *
 * @param models the merged models, then companions
 * @throws VOCABULARY_UNMERGEABLE, and the codes of `mergeVocabularies`
 */
export const inOneVocabulary = async (
  { tokenizer: asked, stacksLayers }: Pick<Recipe, 'tokenizer' | 'stacksLayers'>,
  models: readonly OpenedModel[],
  session: PlanningSession,
): Promise<InVocabulary> => {
  const found = models.map(({ checkpoint, architecture }) => vocabularyTensors(checkpoint, architecture));
  const [first] = found;
  // Merging rows by number needs the same number of rows in all models.
  const isOneSize = found.every((one) => one?.rows === first?.rows);
  const request: TokenizerRequest =
    asked.source === 'rows' && !isOneSize && !stacksLayers ? { ...asked, source: 'auto' } : asked;
  const donor = typeof request.source === 'number' ? request.source : baseOf(request);
  const owner =
    typeof request.source === 'number' ? donor : ownerOf(models, donor, (index) => found[index]?.rows);
  const { config = {}, name } = itemAt(models, 0).checkpoint;
  const unchanged = async (isDecided: boolean): Promise<InVocabulary> => {
    const ids = donor === 0 || owner !== donor ? noIds : await donatedIds(itemAt(models, donor));
    return {
      models: withIds(models, ids),
      isDecided,
      tokenizer: tokenizerOf(itemAt(models, owner)),
      warnings:
        owner === donor
          ? []
          : [
              `${itemAt(models, donor).checkpoint.name} has no tokenizer: the output gets that of ${itemAt(models, owner).checkpoint.name}`,
            ],
      configEdits: (edits) => vocabularyEdits({ ...config, ...edits }, unmoved, ids.donated),
    };
  };
  if (first === undefined || found.includes(undefined)) return await unchanged(false);
  if (haveOneTokenizer(models)) return await unchanged(true);
  if (
    !(await haveTokenizers(models, session.tokenizers)) &&
    request.tokens.size === 0 &&
    request.padToMultipleOf === undefined
  )
    return await unchanged(false);
  // Like mergekit, does not compare tokens if layers are stacked with `rows`.
  if (request.source === 'rows' && stacksLayers) return await unchanged(true);
  const written = models.find(({ tokenizer }) => (tokenizer?.files.length ?? 0) > 0);
  if (written !== undefined) throw ofRecipe(written);
  const inRows = models.map((model, index) => ({
    checkpoint: tokenizerOf(model).checkpoint,
    rows: itemAt(found, index)?.rows ?? 0,
  }));
  const key = [inRows.map(({ checkpoint, rows }) => [session.idOf(checkpoint), rows]), request];
  const merged = await session.remember(vocabularies, key, () =>
    mergeVocabularies(inRows, request, session.tokenizers),
  );
  if (merged === undefined) return await unchanged(isOneSize);
  const moves = models.map((_, index) =>
    moveOf(itemAt(merged.models, index).own, itemAt(found, index)?.rows ?? 0, merged.rows),
  );
  const wrapped = models.map((model, index) =>
    withVocabulary(model, index, models, { merged, id: session.idOf(merged) }, itemAt(moves, index)),
  );
  const ofDonor = itemAt(models, merged.donor);
  const ids = merged.donor === 0 ? noIds : await donatedIds(itemAt(wrapped, merged.donor));
  const editsOf = (edits: Edits): Edits =>
    vocabularyEdits({ ...config, ...edits }, itemAt(moves, 0), ids.donated);
  return {
    models: withIds(wrapped, ids),
    isDecided: true,
    tokenizer: { checkpoint: tokenizerOf(ofDonor).checkpoint, files: merged.files },
    warnings: [...merged.warnings, ...withoutToken(name, config, editsOf({}))],
    configEdits: editsOf,
  };
};

/** The donor's ids, for `config.json` and `generation_config.json`. */
type DonatedIds = Readonly<Record<'donated' | 'generated', Edits>>;

const noIds: DonatedIds = { donated: {}, generated: {} };

/** Gives the first model the output's ids, so that checks do not warn that its own are kept. */
const withIds = (
  models: readonly OpenedModel[],
  { donated, generated }: DonatedIds,
): readonly OpenedModel[] =>
  models.map((model, index) => {
    if (index > 0) return model;
    const { checkpoint, configEdits } = model;
    const generationEdits = inGeneration(model, unmoved, generated);
    const edits = vocabularyEdits(checkpoint.config ?? {}, unmoved, donated);
    if (Object.keys(edits).length === 0) return { ...model, generationEdits };
    const config = { ...checkpoint.config, ...edits };
    return {
      ...model,
      generationEdits,
      configEdits: { ...configEdits, ...edits },
      checkpoint: { ...checkpoint, config },
    };
  });

/** Adds changes of the vocabulary to a model's changes to `generation_config.json`. */
export const inGeneration =
  ({ generationEdits = () => ({}) }: OpenedModel, move: TokenMove, generated: Edits = {}) =>
  (file: Edits): Edits => {
    const edits = generationEdits(file);
    return { ...edits, ...vocabularyEdits({ ...file, ...edits }, move, generated) };
  };

const donatedIds = async ({ checkpoint, generationEdits }: OpenedModel): Promise<DonatedIds> => {
  const file = (await sideFileObject(checkpoint, 'generation_config.json')) ?? {};
  const known = (config: Edits) =>
    Object.fromEntries(Object.entries(idsOfUses(config)).filter(([, id]) => id !== null));
  const donated = known(checkpoint.config ?? {});
  return { donated, generated: { ...donated, ...known({ ...file, ...generationEdits?.(file) }) } };
};

/** @throws VOCABULARY_UNMERGEABLE if a tensor's rows are not tokens */
export const refuseUnmovable = (
  model: string,
  { unmovable: [tensor], rows }: VocabularyTensors,
  remedy: string,
): void => {
  if (tensor === undefined) return;
  const reason = `has its tokens in another form than ${rows} rows, which cannot be moved; ${remedy}`;
  throw new LayerloomError('VOCABULARY_UNMERGEABLE', { model, tensor, reason });
};

export const withoutToken = (name: string, config: Edits, edits: Edits, within = ''): string[] =>
  Object.entries(edits).flatMap(([key, id]) => {
    const former = config[key];
    if (isObject(id) && isObject(former)) return withoutToken(name, former, id, `${within}${key}.`);
    return (id !== null && id !== -1) || former === id
      ? []
      : `config.json of ${name}: ${within}${key} ${former} names a token that the output lacks, and is ${id} there`;
  });

const baseOf = ({ source, base = 0 }: TokenizerRequest): number =>
  source === 'base' || source === 'union' ? base : 0;

/** Returns whose tokenizer files are used: the donor's, or the first model's with as many rows. */
const ownerOf = (
  models: readonly OpenedModel[],
  donor: number,
  rowsOf: (index: number) => number | undefined,
): number => {
  const hasOne = (model: OpenedModel) => {
    const { checkpoint, files } = tokenizerOf(model);
    return files.length > 0 || checkpoint.sideFiles.some(isTokenizerFile);
  };
  if (hasOne(itemAt(models, donor))) return donor;
  const other = models.findIndex((model, index) => rowsOf(index) === rowsOf(donor) && hasOne(model));
  return other === -1 ? donor : other;
};

export const tokenizerOf = ({ tokenizer, checkpoint }: OpenedModel): TokenizerSource =>
  tokenizer ?? { checkpoint, files: [] };

const haveTokenizers = async (
  models: readonly OpenedModel[],
  tokenizers: TokenizerReader,
): Promise<boolean> => {
  const found = await Promise.all(models.map((model) => tokenizers.filesOf(tokenizerOf(model).checkpoint)));
  return found.some((files) => files !== undefined);
};

const haveOneTokenizer = (models: readonly OpenedModel[]): boolean => {
  const [first, ...others] = models.map(({ tokenizer }) => tokenizer?.files ?? []);
  return (
    first !== undefined &&
    first.length > 0 &&
    others.every((files) => JSON.stringify(files) === JSON.stringify(first))
  );
};

const ofRecipe = (model: OpenedModel): LayerloomError =>
  new LayerloomError('VOCABULARY_UNMERGEABLE', {
    model: model.checkpoint.name,
    reason:
      'is a recipe in the recipe whose vocabulary is not that of the other models; merge it first, in a step of its own',
  });

/** Maps a model's token ids to the output's. */
export const moveOf = (own: readonly RowRun[], from: number, to: number): TokenMove => ({
  from,
  to,
  idOf: (id) => {
    const run = own.find(([, first, count]) => first <= id && id < first + count);
    return run === undefined ? undefined : run[0] + id - run[1];
  },
});

export const withRows = (
  checkpoint: CheckpointIndex,
  { names }: VocabularyTensors,
  rows: number,
): CheckpointIndex => ({
  ...checkpoint,
  tensors: new Map(
    [...checkpoint.tensors].map(([name, reference]) => [
      name,
      names.has(name) ? { ...reference, shape: [rows, ...reference.shape.slice(1)] } : reference,
    ]),
  ),
});

const withVocabulary = (
  model: OpenedModel,
  index: number,
  models: readonly OpenedModel[],
  { merged, id }: { readonly merged: MergedVocabulary; readonly id: number },
  move: TokenMove,
): OpenedModel => {
  const { checkpoint, architecture, recipe } = model;
  const rows = itemAt(merged.models, index);
  const vocabulary = vocabularyTensors(checkpoint, architecture);
  if (vocabulary === undefined) throw new Error(`${checkpoint.path} has no embeddings`);
  if (isUnmoved(rows, merged, vocabulary.rows)) return model;
  if (recipe !== undefined) throw ofRecipe(model);
  refuseUnmovable(checkpoint.path, vocabulary, 'merge models of one vocabulary');
  const { config } = checkpoint;
  const made = new Map<string, Operand>();
  const operandOf = (name: string): Operand | undefined => {
    if (!vocabulary.names.has(name)) return model.operandOf(name);
    const known =
      made.get(name) ??
      inVocabulary(storedTensor(model, name), rows, merged, (other) =>
        storedTensor(itemAt(models, other), name),
      );
    made.set(name, known);
    return known;
  };
  return {
    ...model,
    checkpoint: {
      ...withRows(checkpoint, vocabulary, merged.rows),
      config: config === undefined ? undefined : { ...config, ...vocabularyEdits(config, move) },
    },
    vocabulary: id,
    generationEdits: inGeneration(model, move),
    operandOf,
  };
};

/**
 * Returns a stored tensor with its model's own rows.
 *
 * @throws VOCABULARY_UNMERGEABLE for a computed tensor
 */
export const storedTensor = (model: OpenedModel, name: string): VocabularyTensor => {
  const { checkpoint } = model;
  const stored = model.operandOf(name);
  const refuse = (reason: string): never => {
    throw new LayerloomError('VOCABULARY_UNMERGEABLE', { model: checkpoint.path, tensor: name, reason });
  };
  const moving = 'and a change of vocabulary would move its rows; first write the model';
  const path = argument(checkpoint.path);
  if (stored === undefined)
    return refuse('is not there, though rows of other models are to be filled from it');
  const reference = checkpoint.tensors.get(name);
  if (reference?.pieces !== undefined)
    refuse(
      `is stored in ${reference.pieces.length} pieces, ${moving} in one piece: ${layerloomCommand('relayout', path, '-o', 'DIR')}`,
    );
  if (reference?.quantised !== undefined || reference?.blocks !== undefined)
    refuse(
      `is quantised, ${moving} unquantised: ${layerloomCommand('relayout', path, '--dtype', 'bfloat16', '-o', 'DIR')}`,
    );
  if (!isStored(stored) && checkpoint.adapted !== undefined)
    refuse(
      `is changed by the adapter, ${moving} with the adapter: ${layerloomCommand('relayout', 'BASE+ADAPTER', '-o', 'DIR')}`,
    );
  if (!isStored(stored)) throw ofRecipe(model);
  return { name, path: checkpoint.path, shape: valueAt(checkpoint.tensors, name).shape, stored };
};
