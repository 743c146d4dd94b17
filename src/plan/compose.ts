import { basename } from 'node:path';
import { type Place, requireLayers } from '../architecture/architecture.js';
import type { CheckpointIndex, FileIdentity, FileState } from '../checkpoint/checkpoint.js';
import { layerEdits } from '../checkpoint/config.js';
import { observePath } from '../checkpoint/identity.js';
import { splitName } from '../checkpoint/model-place.js';
import { modelText } from '../checkpoint/model-text.js';
import { LayerloomError } from '../errors.js';
import { itemAt, valueAt } from '../lookup.js';
import {
  type Compiled,
  type ModelReference,
  noStatistics,
  type OutputTensor,
  type Statistics,
} from '../methods/framework/method.js';
import { same } from '../methods/framework/tensor-recipe.js';
import type { ModelInput, RecipeInput } from '../methods/recipes.js';
import type { Recipe } from '../recipe/recipe.js';
import { torchName } from '../tensor/dtype.js';
import { bytesOfTensor } from '../tensor/reference.js';
import { binder } from './bind.js';
import { checkCompatible, type Fit, warningOf } from './compatible.js';
import { type CompleteRecipe, completeRecipe } from './complete-recipe.js';
import type { UnplacedTensor } from './layout.js';
import {
  at,
  type OpenedCheckpoint,
  type OpenedModel,
  openEach,
  settleNames,
  type Unmatched,
} from './models.js';
import type { Operand } from './plan.js';
import { rolesOf } from './roles.js';

/** The checkpoints that recipes name, nested ones included, each opened once. */
export interface OpenedInputs {
  /** In the order of a plan's `inputs`. */
  readonly checkpoints: readonly OpenedCheckpoint[];
  /**
   * Returns the index in `checkpoints` of a model as a recipe spells it. @throws RangeError if it was not
   * opened
   */
  indexOf(model: string): number;
  /**
   * Returns the text by which complete recipes name a model that a recipe spells so: one for each spelling.
   */
  textOf(model: string): string;
  /** Cache of comparisons, by the two models compared. */
  readonly fits: Map<string, Promise<Fit>>;
  /** Cache of composed nested recipes, which several recipes may contain. */
  readonly made: Map<RecipeInput, Promise<Composed>>;
}

/** A recipe compiled to formulas over byte ranges of its inputs. */
export interface Composed {
  readonly recipe: Recipe;
  readonly compiled: Compiled;
  /** The recipe's parameters after defaults and normalisation, and its models if some of them are recipes. */
  readonly settled: Readonly<Record<string, unknown>>;
  /** The recipe that makes the same again, models included. */
  readonly complete: CompleteRecipe;
  readonly models: readonly OpenedModel[];
  readonly companions: readonly OpenedModel[];
  readonly tensors: readonly UnplacedTensor[];
  readonly layers: number;
  /** The keys of the output's `config.json` that differ from the first model's. */
  readonly configEdits: Readonly<Record<string, unknown>>;
  /** Filters that match no tensor, those of nested recipes included. */
  readonly unmatched: readonly Unmatched[];
  readonly warnings: readonly string[];
}

/** Statistics of whole models, measured before compilation. Recipes that need none are absent. */
export type StatisticsByRecipe = ReadonlyMap<Recipe, Statistics>;

const referencesOf = (recipe: Recipe): ModelReference[] =>
  [...recipe.models, ...recipe.companions].flatMap((reference) => {
    const { model } = reference;
    if (typeof model === 'string') return [reference];
    const inner = recipe.nested.get(model);
    return inner === undefined ? [] : referencesOf(inner);
  });

/**
 * Opens the checkpoints that recipes name, nested ones included. Reads headers and small files, no weights.
 *
 * @throws LayerloomError NAME_CLASH, and the codes of `openCheckpoint`
 */
export const openInputs = async (...recipes: readonly Recipe[]): Promise<OpenedInputs> => {
  const wanted = new Map<string, ModelReference & { model: string }>();
  for (const reference of recipes.flatMap(referencesOf))
    if (typeof reference.model === 'string' && !wanted.has(reference.model))
      wanted.set(reference.model, { ...reference, model: reference.model });
  const opened = await openEach([...wanted.values()]);
  // Two spellings of one path are one input.
  const isFirst = (one: OpenedCheckpoint, index: number) =>
    opened.findIndex(({ checkpoint }) => sameInput(checkpoint, one.checkpoint)) === index;
  const distinct = opened.filter(isFirst);
  const indexes = new Map(
    opened.map(({ model, checkpoint }) => [
      model,
      distinct.findIndex((other) => sameInput(other.checkpoint, checkpoint)),
    ]),
  );
  const checkpoints = settleNames(distinct);
  const texts = modelTexts(checkpoints, indexes);
  return {
    checkpoints,
    indexOf: (model) => valueAt(indexes, model),
    textOf: (model) => valueAt(texts, model),
    fits: new Map(),
    made: new Map(),
  };
};

/**
 * Returns the inputs with the states of their files. Call it before weights are read for a plan: if a file
 * changes after that, the engine refuses the plan, whose statistics might belong to the old weights.
 *
 * @param hashOf `samples` reads parts of every file, `bytes` all of it
 * @throws LayerloomError INPUT_CHANGED, READ_FAILED
 */
export const observeInputs = async (
  inputs: OpenedInputs,
  hashOf: FileState['hashOf'] = 'samples',
): Promise<OpenedInputs> => {
  const observed = new Map<string, Promise<FileIdentity>>();
  const observe = (file: FileIdentity): Promise<FileIdentity> => {
    const found = observed.get(file.path) ?? observePath(file, hashOf).then((seen) => ({ ...file, seen }));
    observed.set(file.path, found);
    return found;
  };
  const checkpoints: OpenedCheckpoint[] = [];
  for (const opened of inputs.checkpoints) {
    const files = await Promise.all(opened.checkpoint.files.map(observe));
    checkpoints.push({ ...opened, checkpoint: { ...opened.checkpoint, files } });
  }
  return { ...inputs, checkpoints };
};

/**
 * Returns the inputs that one recipe names, renumbered. Files are not opened again, and comparisons are kept.
 */
export const inputsOf = (recipe: Recipe, inputs: OpenedInputs): OpenedInputs => {
  const wanted = referencesOf(recipe).map(({ model }) => inputs.indexOf(String(model)));
  const kept = [...new Set(wanted)];
  const renumbered = new Map(kept.map((index, position) => [index, position]));
  return {
    checkpoints: kept.map((index) => itemAt(inputs.checkpoints, index)),
    indexOf: (model) => valueAt(renumbered, inputs.indexOf(model)),
    textOf: inputs.textOf,
    fits: inputs.fits,
    made: new Map(),
  };
};

/**
 * The texts of models by their spelling. A method takes two spellings of one path for two models, and so they
 * get two texts, of which the later has a name of its own.
 */
const modelTexts = (
  checkpoints: readonly OpenedCheckpoint[],
  indexes: ReadonlyMap<string, number>,
): ReadonlyMap<string, string> => {
  const spellings = new Map<number, number>();
  return new Map(
    [...indexes].map(([model, index]) => {
      const { checkpoint } = itemAt(checkpoints, index);
      const count = (spellings.get(index) ?? 0) + 1;
      spellings.set(index, count);
      const text = modelText(checkpoint);
      return [model, count === 1 ? text : `${basename(checkpoint.name)}-${count}=${withoutName(text)}`];
    }),
  );
};

const withoutName = (text: string): string => splitName(text)?.rest ?? text;

const sameInput = (a: CheckpointIndex, b: CheckpointIndex): boolean => a.path === b.path && a.name === b.name;

/**
 * Compiles a recipe: checks that its models are compatible and binds the expression of each output tensor to
 * byte ranges. Nested recipes are compiled first, and their tensors become operands of the outer expressions.
 *
 * @throws LayerloomError the codes of a recipe's method, of `checkCompatible` and of `binder`
 */
export const compose = async (
  recipe: Recipe,
  inputs: OpenedInputs,
  statistics: StatisticsByRecipe,
): Promise<Composed> => {
  const open = modelOpener(recipe, inputs, statistics);
  const models = await Promise.all(recipe.models.map(open));
  const companions = await Promise.all(recipe.companions.map(open));
  refuseTwins(models);
  const [first] = models;
  if (first === undefined) throw new Error(`method ${recipe.method} merges no model`);
  if (recipe.needsLayers)
    for (const { architecture, checkpoint } of models) requireLayers(architecture, checkpoint.path);
  const { warnings, omitted } = await checkAll(recipe, models, companions, inputs);

  const { layers, places } = first.architecture;
  const found = statistics.get(recipe) ?? noStatistics;
  const compiled = recipe.compile({
    layers,
    models: models.map(({ checkpoint, architecture, recipe: made }) => ({
      name: checkpoint.name,
      ...(made === undefined ? {} : { recipe: made }),
      layers: architecture.layers,
      places: architecture.places,
    })),
    ...found,
  });
  const outputs: readonly OutputTensor[] =
    compiled.outputs ??
    [...first.checkpoint.tensors.keys()].map((name) => ({
      name,
      like: { model: 0, tensor: name },
      place: places.get(name) ?? { layer: undefined, role: 'other', module: name },
    }));
  const bind = binder(models, recipe.dtype);
  const tensors = outputs
    .filter(({ name }) => !omitted.has(name))
    .map((output): UnplacedTensor => {
      const { name, like, place } = output;
      const { dtype, expression } = bind(output, compiled.expressionOf(place, name));
      const { shape } = valueAt(itemAt(models, like.model).checkpoint.tensors, like.tensor);
      return { name, dtype, shape, bytes: bytesOfTensor(dtype, shape), place, expression };
    });
  const unmatched = compiled.unused?.() ?? [];
  const all = [...models, ...companions];
  return {
    recipe,
    compiled,
    settled: {
      ...(all.some((model) => model.recipe !== undefined) ? rolesOf(all) : {}),
      ...compiled.resolved,
      ...(recipe.dtype === undefined ? {} : { dtype: torchName(recipe.dtype) }),
    },
    complete: completeRecipe(recipe, compiled.again, (model) => textIn(recipe, all, inputs, model)),
    models,
    companions,
    tensors,
    layers: compiled.layersLike?.length ?? layers,
    configEdits: { ...first.configEdits, ...stackedEdits(compiled, models) },
    unmatched: [...models.flatMap((model) => model.unmatched ?? []), ...unmatched],
    warnings: [
      ...models.flatMap((model) => model.warnings ?? []),
      ...warnings,
      ...unmatched.map(({ what, path }) => `${what} (${path.join('.')}) matches no tensor`),
    ],
  };
};

/** Returns the text of one of a recipe's models, or the complete recipe of one that is nested. */
const textIn = (
  { models, companions }: Recipe,
  opened: readonly OpenedModel[],
  inputs: OpenedInputs,
  model: unknown,
): unknown => {
  if (typeof model === 'string') return inputs.textOf(model);
  const references = [...models, ...companions];
  return itemAt(
    opened,
    references.findIndex((reference) => same(reference.model, model as ModelInput)),
  ).complete;
};

/**
 * Returns a function that opens a model of the recipe: a checkpoint, or a nested recipe, which it compiles.
 */
export const modelOpener =
  (recipe: Recipe, inputs: OpenedInputs, statistics: StatisticsByRecipe) =>
  async (reference: ModelReference): Promise<OpenedModel> => {
    if (typeof reference.model === 'string') return fromCheckpoint(reference, inputs);
    const inner = recipe.nested.get(reference.model);
    if (inner === undefined) throw new Error(`a nested ${reference.model.method} was not parsed`);
    const made = inputs.made.get(reference.model) ?? compose(inner, inputs, statistics);
    inputs.made.set(reference.model, made);
    return asModel(reference, await made);
  };

/** Refuses a recipe that names one model twice in the same role, which is surely a mistake. */
const refuseTwins = (models: readonly OpenedModel[]): void => {
  for (const [index, { role, checkpoint, operandOf, path }] of models.entries()) {
    // One tensor is enough to tell models apart: its operand is a byte range, or the whole formula of a
    // nested recipe.
    const [name = ''] = checkpoint.tensors.keys();
    const source = operandOf(name);
    const twin = models
      .slice(0, index)
      .find(
        (other) =>
          other.role === role &&
          other.checkpoint.name === checkpoint.name &&
          JSON.stringify(other.operandOf(name)) === JSON.stringify(source),
      );
    if (twin !== undefined)
      throw at(
        new LayerloomError('NAME_CLASH', {
          name: checkpoint.name,
          paths: [twin.checkpoint.path, checkpoint.path],
        }),
        path,
      );
  }
};

const stackedEdits = ({ layersLike }: Compiled, models: readonly OpenedModel[]): Record<string, unknown> => {
  if (layersLike === undefined) return {};
  const configs = models.map(({ checkpoint }) => checkpoint.config);
  return layerEdits(configs, layersLike);
};

const fromCheckpoint = (reference: ModelReference, inputs: OpenedInputs): OpenedModel => {
  const input = inputs.indexOf(String(reference.model));
  const { checkpoint, architecture } = itemAt(inputs.checkpoints, input);
  return {
    role: reference.role,
    ...(reference.path === undefined ? {} : { path: reference.path }),
    checkpoint,
    architecture,
    operandOf: (name) => {
      const found = checkpoint.tensors.get(name);
      if (found === undefined) return undefined;
      const { file, begin, end, dtype } = found;
      return { input, file, begin, end, dtype };
    },
  };
};

/** Returns a compiled nested recipe as a model: its first model, with the recipe's tensors. */
const asModel = (reference: ModelReference, composed: Composed): OpenedModel => {
  const [first] = composed.models;
  if (first === undefined) throw new Error('a recipe has a model');
  const { recipe, tensors, models, companions, settled } = composed;
  const names = models.map(({ checkpoint }) => checkpoint.name);
  const operands = new Map(
    tensors.map(({ name, dtype, expression }): [string, Operand] => [
      name,
      expression.kind === 'copy' ? expression.source : { dtype, expression },
    ]),
  );
  const places = new Map<string, Place>(tensors.map(({ name, place }) => [name, place]));
  const { config } = first.checkpoint;
  return {
    role: reference.role,
    ...(reference.path === undefined ? {} : { path: reference.path }),
    checkpoint: {
      ...first.checkpoint,
      name: `${recipe.method}(${names.join(', ')})`,
      // These tensors are not stored: `operandOf` has their formulas, and the ranges here are not read.
      tensors: new Map(
        tensors.map(({ name, dtype, shape }) => [name, { file: 0, begin: 0, end: 0, dtype, shape }]),
      ),
      config: config === undefined ? undefined : { ...config, ...composed.configEdits },
      warnings: [],
    },
    architecture: { ...first.architecture, layers: composed.layers, places },
    operandOf: (name) => operands.get(name),
    configEdits: composed.configEdits,
    recipe: { method: recipe.method, ...rolesOf([...models, ...companions]), ...settled },
    complete: composed.complete,
    unmatched: composed.unmatched,
    warnings: composed.warnings,
  };
};

/** Returns the key of a model in the cache of comparisons. */
const idOf = ({ checkpoint, configEdits }: OpenedModel): string =>
  `${checkpoint.path} ${checkpoint.name}${configEdits === undefined ? '' : JSON.stringify(configEdits)}`;

/**
 * Checks that every model is compatible with the first.
 *
 * @returns warnings, and the redundant tensors that are left out because some merged model does not store
 *   them
 */
const checkAll = async (
  recipe: Recipe,
  models: readonly OpenedModel[],
  companions: readonly OpenedModel[],
  { fits }: OpenedInputs,
): Promise<{ warnings: string[]; omitted: ReadonlySet<string> }> => {
  const [first] = models;
  const warnings = [...models, ...companions].flatMap(({ checkpoint }) => checkpoint.warnings);
  const omitted = new Set<string>();
  for (const other of [...models.slice(1), ...companions]) {
    if (first === undefined) break;
    const key = `${idOf(first)}\n${idOf(other)}\n${recipe.stacksLayers}`;
    const found = fits.get(key) ?? checkCompatible(first, other, recipe.stacksLayers);
    fits.set(key, found);
    const fit = await found.catch((error: unknown) => {
      throw at(error, other.path);
    });
    warnings.push(...fit.differences.map(warningOf));
    if (!companions.includes(other)) for (const name of fit.redundant) omitted.add(name);
  }
  const left = [...omitted].sort();
  if (left.length > 0)
    warnings.push(
      `not every model stores ${left.slice(0, 3).join(', ')}${left.length > 3 ? ', …' : ''}: left out, as loaders make ${left.length === 1 ? 'it' : 'them'} anew`,
    );
  return { warnings, omitted };
};

/**
 * Returns the opened model that the recipe refers to as `model`; undefined if it is none of the recipe's own
 * models.
 */
export const modelNamed = (composed: Composed, model: ModelInput): OpenedModel | undefined => {
  const { recipe, models, companions } = composed;
  const index = [...recipe.models, ...recipe.companions].findIndex((reference) => reference.model === model);
  return [...models, ...companions][index];
};

/**
 * @throws LayerloomError INVALID_PARAMETER if a filter of the recipe, or of a nested one, matches no tensor
 */
export const requireMatches = ({ unmatched: [first] }: Composed): void => {
  if (first !== undefined)
    throw new LayerloomError(
      'INVALID_PARAMETER',
      {
        parameter: first.path.join('.'),
        value: first.what,
        expected: 'a filter that matches a tensor (--strict)',
      },
      { context: { recipePath: first.path } },
    );
};
