import { type Place, requireLayers } from '../architecture/architecture.js';
import type { CheckpointIndex, FileIdentity, FileState } from '../checkpoint/checkpoint.js';
import { layerEdits } from '../checkpoint/config.js';
import { observePath } from '../checkpoint/identity.js';
import { LayerloomError } from '../errors.js';
import {
  type Compiled,
  type ModelReference,
  noStatistics,
  type OutputTensor,
  type Statistics,
} from '../methods/framework/method.js';
import type { ModelInput, RecipeInput } from '../methods/recipes.js';
import type { Recipe } from '../recipe/recipe.js';
import { torchName } from '../tensor/dtype.js';
import { byteLength, elementCount } from '../tensor/reference.js';
import { binder } from './bind.js';
import { checkCompatible, type Fit } from './compatible.js';
import type { UnplacedTensor } from './layout.js';
import { rolesOf } from './model-card.js';
import {
  at,
  type OpenedCheckpoint,
  type OpenedModel,
  openEach,
  settleNames,
  type Unmatched,
} from './models.js';
import type { Operand } from './plan.js';

/** The checkpoints that a recipe and the recipes in it name, each opened once. */
export interface OpenedInputs {
  /** By their place in the plan. */
  readonly checkpoints: readonly OpenedCheckpoint[];
  indexOf(model: string): number;
  /** What was found of them already: how two fit, and what a recipe in several recipes makes. */
  readonly fits: Map<string, Promise<Fit>>;
  readonly made: Map<RecipeInput, Promise<Composed>>;
}

/** What a recipe makes, decided down to byte ranges of its inputs. */
export interface Composed {
  readonly recipe: Recipe;
  readonly compiled: Compiled;
  /** The recipe's parameters as they are used; with its models where some are recipes themselves. */
  readonly settled: Readonly<Record<string, unknown>>;
  readonly models: readonly OpenedModel[];
  readonly companions: readonly OpenedModel[];
  readonly tensors: readonly UnplacedTensor[];
  readonly layers: number;
  /** What the output's `config.json` says otherwise than the first model's. */
  readonly configEdits: Readonly<Record<string, unknown>>;
  /** Filters of the recipe, and of those in it, that match no tensor. */
  readonly unmatched: readonly Unmatched[];
  readonly warnings: readonly string[];
}

/** What recipes need to know beforehand, as it was found; nothing where headers are enough. */
export type StatisticsByRecipe = ReadonlyMap<Recipe, Statistics>;

const referencesOf = (recipe: Recipe): ModelReference[] =>
  [...recipe.models, ...recipe.companions].flatMap((reference) => {
    const { model } = reference;
    if (typeof model === 'string') return [reference];
    const inner = recipe.nested.get(model);
    return inner === undefined ? [] : referencesOf(inner);
  });

/** Opens what a recipe names, at any depth: headers and small files, no weights. */
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
  return {
    checkpoints: settleNames(distinct),
    indexOf: (model) => indexes.get(model) ?? -1,
    fits: new Map(),
    made: new Map(),
  };
};

/**
 * Inputs with the states of their files. To be called before weights are read for a plan: what is later computed from those weights then belongs to them, or is
 * refused.
 *
 * @param hashOf `bytes` reads every file whole
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

/** Those of the inputs that a recipe names, numbered anew: nothing is opened or compared again. */
export const inputsOf = (recipe: Recipe, inputs: OpenedInputs): OpenedInputs => {
  const wanted = referencesOf(recipe).map(({ model }) => inputs.indexOf(String(model)));
  const kept = [...new Set(wanted)];
  return {
    checkpoints: kept.map((index) => inputs.checkpoints[index] as OpenedCheckpoint),
    indexOf: (model) => kept.indexOf(inputs.indexOf(model)),
    fits: inputs.fits,
    made: new Map(),
  };
};

const sameInput = (a: CheckpointIndex, b: CheckpointIndex): boolean => a.path === b.path && a.name === b.name;

/**
 * Decides what a recipe makes: checks that its models fit and compiles each output tensor; a recipe in a model's place is decided first,
 * and its tensors stand in the outer expressions.
 *
 * @throws LayerloomError: a recipe's or an incompatibility's code
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
      const shape = models[like.model]?.checkpoint.tensors.get(like.tensor)?.shape ?? [];
      const bytes = byteLength(dtype, elementCount(shape) ?? 0) ?? 0;
      return { name, dtype, shape, bytes, place, expression };
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

/** Opens a recipe's models: checkpoints, and recipes that stand in their place. */
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

/** A model twice in one role is a slip of the hand. */
const refuseTwins = (models: readonly OpenedModel[]): void => {
  for (const [index, { role, checkpoint, operandOf, path }] of models.entries()) {
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
  const opened = inputs.checkpoints[input];
  if (opened === undefined) throw new Error(`${String(reference.model)} was not opened`);
  const { checkpoint, architecture } = opened;
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

/** What a nested recipe makes, as a model: its first model's, but for its tensors. */
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
      // Where the bytes are is for `operandOf` to say.
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
    unmatched: composed.unmatched,
    warnings: composed.warnings,
  };
};

/** Checkpoints by where they are; what recipes make by what it is made of. */
const idOf = ({ checkpoint, configEdits }: OpenedModel): string =>
  `${checkpoint.path} ${checkpoint.name}${configEdits === undefined ? '' : JSON.stringify(configEdits)}`;

/** Whether every model fits the first; and which tensors are not written, as some merged model does not store them. */
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
    warnings.push(...fit.warnings);
    if (!companions.includes(other)) for (const name of fit.redundant) omitted.add(name);
  }
  const left = [...omitted].sort();
  if (left.length > 0)
    warnings.push(
      `not every model stores ${left.slice(0, 3).join(', ')}${left.length > 3 ? ', …' : ''}: left out, as loaders make ${left.length === 1 ? 'it' : 'them'} anew`,
    );
  return { warnings, omitted };
};

/** The model of a recipe that a name in it means. */
export const modelNamed = (composed: Composed, model: ModelInput): OpenedModel | undefined => {
  const { recipe, models, companions } = composed;
  const index = [...recipe.models, ...recipe.companions].findIndex((reference) => reference.model === model);
  return [...models, ...companions][index];
};

/** @throws LayerloomError INVALID_PARAMETER where a filter of the recipe or of one in it matches no tensor */
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
