import { itemAt } from '../../base/errors/lookup.js';
import { optionName } from '../../base/errors/option-name.js';
import {
  type ModelReference,
  noStatistics,
  type Statistics,
} from '../../methods/framework/declaration/method.js';
import { invalidSetting } from '../../methods/framework/declaration/settings.js';
import { same } from '../../methods/framework/tensors/tensor-recipe.js';
import type { WrittenModel } from '../../methods/recipe/model-places.js';
import type { Recipe } from '../../methods/recipe/recipe.js';
import { spellingsLike } from '../../models/architecture/canonical-names.js';
import type { ExpertLayout } from '../../models/experts/layouts.js';
import { torchName } from '../../tensor/dtype.js';
import { completeRecipe } from '../complete-recipe.js';
import { type AdapterRecipe, composeAdapters, isOfAdapters } from './adapters/compose-adapters.js';
import { checkGates } from './check-gates.js';
import type { Composed, StatisticsByRecipe } from './composed.js';
import { frameOf } from './frame.js';
import { asModel, fromCheckpoint, storedModel } from './inputs/as-model.js';
import { inExpertLayout } from './inputs/expert-layout.js';
import { viewOf } from './inputs/model-view.js';
import type { OpenedModel } from './inputs/models.js';
import type { OpenedInputs } from './inputs/opened-inputs.js';
import { rolesOf } from './inputs/roles.js';
import type { Cached } from './inputs/session.js';
import { quantised } from './quantise.js';
import { inOneLayout } from './quantised-output.js';
import { configOfStack } from './stacked-config.js';

/**
 * Compiles nested recipes, checks models, and binds output tensors to byte ranges.
 *
 * @throws the codes of a recipe's method, of `checkCompatible` and of `binder`
 */
export const compose = async (
  recipe: Recipe,
  inputs: OpenedInputs,
  statistics: StatisticsByRecipe,
  experts: ExpertLayout | undefined = recipe.experts,
): Promise<Composed> => {
  const composed = await composeValues(recipe, inputs, statistics);
  if (recipe.quantize === undefined) return inExpertLayout(inOneLayout(composed, inputs), inputs, experts);
  if (experts === 'fused')
    throw invalidSetting(['experts'], experts, 'separate where the output is quantised');
  const whole = quantised(composed, recipe.quantize);
  return experts === undefined ? whole : inExpertLayout(whole, inputs, experts);
};

const composeValues = async (
  recipe: Recipe,
  inputs: OpenedInputs,
  statistics: StatisticsByRecipe,
  isNested = false,
): Promise<Composed> => {
  const open = modelOpener(recipe, inputs, statistics);
  const ofAdapters = await asAdapters(recipe, inputs, open);
  if (ofAdapters !== undefined)
    return composeAdapters({
      ...ofAdapters,
      isNested,
      statistics: statistics.get(recipe),
      complete: (again) =>
        completeRecipe(recipe, again, (model) => textIn(recipe, ofAdapters.opened, inputs, model)),
    });
  if (recipe.rank !== undefined)
    throw invalidSetting(
      ['rank'],
      recipe.rank,
      `no rank where full weights are written: bare adapters, or ${optionName('as', 'adapter')}`,
    );
  const frame = await frameOf(recipe, inputs, open);
  const { first, models, companions, vocabulary } = frame;
  const { layers } = first.architecture;
  const found = inNames(statistics.get(recipe) ?? noStatistics, first);
  const compiled = recipe.compile({ layers, models: models.map(viewOf), ...found });
  for (const model of models) if (model.role === 'gates') await checkGates(model);
  checkVocabularies(models);
  const tensors = frame.tensorsOf(compiled);
  const unmatched = compiled.unused?.() ?? [];
  const stacked = configOfStack(compiled, models);
  const edits = { ...first.configEdits, ...stacked.edits, ...compiled.configEdits };
  const all = [...models, ...companions];
  return {
    recipe,
    compiled,
    settled: {
      ...(all.some((model) => model.recipe !== undefined) ? rolesOf(all) : {}),
      ...compiled.resolved,
      ...(recipe.dtype === undefined ? {} : { dtype: torchName(recipe.dtype) }),
    },
    // A getter, because planning a batch does not need the complete recipe.
    get complete() {
      return completeRecipe(recipe, compiled.again, (model) => textIn(recipe, all, inputs, model));
    },
    models,
    companions,
    ...(compiled.outputs === undefined ? { frame } : {}),
    tensors,
    layers: compiled.layersLike?.length ?? layers,
    configEdits: { ...edits, ...vocabulary.configEdits(edits) },
    generationEdits: first.generationEdits ?? (() => ({})),
    tokenizer: vocabulary.tokenizer,
    unmatched: [...models.flatMap((model) => model.unmatched ?? []), ...unmatched],
    warnings: [
      ...models.flatMap((model) => model.warnings ?? []),
      ...vocabulary.warnings,
      ...frame.warnings,
      ...(compiled.warnings ?? []),
      ...stacked.warnings,
      ...unmatched.map(({ what, path }) => `${what} (${path.join('.')}) matches no tensor`),
    ],
  };
};

const inNames = ({ taskVectors, ...others }: Statistics, { checkpoint }: OpenedModel): Statistics => ({
  ...others,
  taskVectors: taskVectors.map((vector) => {
    const spellings = spellingsLike(Object.keys(vector.tensors), checkpoint.tensors.keys());
    if (spellings.size === 0) return vector;
    const respelt = <T>(entries: Iterable<readonly [string, T]>) =>
      [...entries].map(([name, value]) => [spellings.get(name) ?? name, value] as const);
    return {
      ...vector,
      tensors: Object.fromEntries(respelt(Object.entries(vector.tensors))),
      vectors: new Map(respelt(vector.vectors)),
    };
  }),
});

/** Refuses importances if the vocabulary changes: a file's rows belong to its model's own tokens. */
const checkVocabularies = (models: readonly OpenedModel[]): void => {
  const importance = models.find(({ role }) => role === 'importance');
  const other = models.find(({ vocabulary }) => vocabulary !== undefined);
  if (importance !== undefined && other !== undefined)
    throw invalidSetting(
      ['importances'],
      importance.checkpoint.path,
      `models of one vocabulary, in whose rows the importances of embeddings are, and ${other.checkpoint.name} would get other rows`,
    );
};

/** Composes a merge of bare adapters, opening the base if available; undefined for other recipes. */
const asAdapters = async (
  recipe: Recipe,
  inputs: OpenedInputs,
  open: (reference: ModelReference) => Promise<OpenedModel>,
): Promise<Pick<AdapterRecipe, 'recipe' | 'opened' | 'base'> | undefined> => {
  const adapterOf = (model: string) => itemAt(inputs.checkpoints, inputs.indexOf(model)).adapter;
  if (!isOfAdapters(recipe, (model) => adapterOf(model) !== undefined)) return undefined;
  const opened = await Promise.all([...recipe.models, ...recipe.companions].map(open));
  const named = opened.find(({ role, adapter }) => role === 'base' && adapter === undefined);
  const index = opened
    .flatMap(({ adapter }) => adapter?.adapters ?? [])
    .map(({ config }) => inputs.baseNamed(config.base))
    .find((found) => found !== undefined);
  const base = named ?? (index === undefined ? undefined : storedModel({ role: 'base' }, inputs, index));
  return { recipe, opened, base };
};

const textIn = (
  { models, companions }: Recipe,
  opened: readonly OpenedModel[],
  inputs: OpenedInputs,
  model: WrittenModel,
): unknown => {
  if (typeof model === 'string') return inputs.textOf(model);
  const references = [...models, ...companions];
  return itemAt(
    opened,
    references.findIndex((reference) => same(reference.model, model)),
  ).complete;
};

const nested: Cached<Promise<Composed>> = { most: 256 };

export const modelOpener =
  (recipe: Recipe, inputs: OpenedInputs, statistics: StatisticsByRecipe) =>
  async (reference: ModelReference): Promise<OpenedModel> => {
    if (typeof reference.model === 'string') return fromCheckpoint(reference, inputs);
    const inner = recipe.nested.get(reference.model);
    if (inner === undefined) throw new Error(`a nested ${reference.model.method} was not parsed`);
    const { session } = inputs;
    const key = [session.idOf(inputs), session.idOf(reference.model)];
    return asModel(
      reference,
      await session.remember(nested, key, () => composeValues(inner, inputs, statistics, true)),
    );
  };
