import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { requireLayers } from '../architecture/architecture.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { editConfig } from '../checkpoint/config.js';
import { encodeShardIndex, indexFileName } from '../checkpoint/shard-index.js';
import { LayerloomError } from '../errors.js';
import type { TaskVectorStatistics } from '../methods/method.js';
import { parseRecipe, type Recipe, type RecipeInput } from '../recipe/recipe.js';
import { torchName } from '../tensor/dtype.js';
import { byteLength, elementCount } from '../tensor/reference.js';
import { version } from '../version.js';
import { binder } from './bind.js';
import { checkCompatible, type Model } from './compatible.js';
import {
  defaultShardSize,
  type InputFile,
  type Layout,
  layOut,
  parseShardSize,
  type UnplacedTensor,
} from './layout.js';
import { writeModelCard } from './model-card.js';
import { type OpenedModel, openModels, plannedInput } from './models.js';
import { describeOrigins } from './origins.js';
import {
  type Cost,
  type MergePlan,
  type PlannedFile,
  type PlannedShard,
  type Source,
  sourcesOf,
} from './plan.js';

export interface PlanOptions {
  /** Default `layer`. */
  layout?: Layout | undefined;
  /** Bytes, or a size such as `5GB` (the default). */
  maxShardSize?: string | number | undefined;
  /** Task vectors of the experts that the recipe's method must know, in its order. */
  statistics?: readonly TaskVectorStatistics[] | undefined;
}

/**
 * Decides a merge: opens the recipe's models (headers and small files, no weights), checks that they fit, and fixes every
 * byte range of the output.
 *
 * @throws LayerloomError: a recipe's, a checkpoint's or an incompatibility's code, before any weight is read
 */
export const planMerge = async (input: RecipeInput, options: PlanOptions = {}): Promise<MergePlan> => {
  const recipe = parseRecipe(input);
  const layout = parseLayout(options);
  if (recipe.statistics !== undefined && options.statistics?.length !== recipe.statistics.experts.length)
    throw new Error(
      `method ${recipe.method} needs the task vectors of ${recipe.statistics.experts.join(', ')}`,
    );

  const opened = await openModels([...recipe.models, ...recipe.companions]);
  const models = opened.slice(0, recipe.models.length);
  const companions = opened.slice(recipe.models.length);
  const first = models[0];
  if (first === undefined) throw new Error(`method ${recipe.method} merges no model`);
  if (recipe.needsLayers)
    for (const { architecture, checkpoint } of models) requireLayers(architecture, checkpoint.path);
  const { warnings, omitted } = await checkAll(models, companions);

  const { layers, places, family, naming } = first.architecture;
  const { resolved, expressionOf } = recipe.compile(layers, options.statistics ?? []);
  const shards = layOut(bindAll(recipe, models, expressionOf, places, omitted), layout, inputFiles(models));
  const settled = { ...resolved, ...(recipe.dtype === undefined ? {} : { dtype: torchName(recipe.dtype) }) };
  const inputs = [...models, ...companions].map(plannedInput);
  const origins = describeOrigins(
    shards.flatMap(({ tensors }) => tensors),
    inputs,
  );
  const everyone = [...models, ...companions];
  const card = recipe.keepsCard
    ? undefined
    : await writeModelCard({ ...recipe, models: everyone, recipe: settled, origins });

  return {
    layerloom: version,
    method: recipe.method,
    title: recipe.title,
    recipe: settled,
    architecture: { family, naming, layers },
    inputs,
    shards,
    files: await planFiles(first.checkpoint, recipe, shards, card),
    cost: costOf(shards),
    warnings: [...warnings, ...unfamiliar(first, recipe)],
  };
};

const parseLayout = ({ layout = 'layer', maxShardSize = defaultShardSize }: PlanOptions) => {
  if (layout !== 'layer' && layout !== 'size')
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'layout',
      value: layout,
      expected: 'layer or size',
    });
  return { layout, maxShardBytes: parseShardSize(maxShardSize) };
};

/** Whether every model fits the first; and which tensors are not written, as some merged model does not store them. */
const checkAll = async (
  models: readonly OpenedModel[],
  companions: readonly OpenedModel[],
): Promise<{ warnings: string[]; omitted: ReadonlySet<string> }> => {
  const [first] = models;
  const warnings = [...models, ...companions].flatMap(({ checkpoint }) => checkpoint.warnings);
  const omitted = new Set<string>();
  for (const other of [...models.slice(1), ...companions]) {
    if (first === undefined) break;
    const fit = await checkCompatible(first, other);
    warnings.push(...fit.warnings);
    if (!companions.includes(other)) for (const name of fit.redundant) omitted.add(name);
  }
  const left = [...omitted].sort();
  if (left.length > 0)
    warnings.push(
      `not every model stores ${left.slice(0, 3).join(', ')}${left.length > 3 ? ', …' : ''}: left out, as loaders make ${left.length === 1 ? 'it' : 'them'} anew`,
    );
  if (first !== undefined && first.checkpoint.config === undefined)
    warnings.push(
      first.checkpoint.path.endsWith('.safetensors')
        ? `${first.checkpoint.path} is one file, and so the output has no config.json, which loaders need; give its directory to have what lies beside it`
        : `${first.checkpoint.path} has no config.json, and so the output has none; loaders need one`,
    );
  return { warnings, omitted };
};

const bindAll = (
  recipe: Recipe,
  models: readonly OpenedModel[],
  expressionOf: ReturnType<Recipe['compile']>['expressionOf'],
  places: Model['architecture']['places'],
  omitted: ReadonlySet<string>,
): UnplacedTensor[] => {
  const bind = binder(
    models.map(({ checkpoint }) => checkpoint),
    recipe.dtype,
  );
  const tensors = [...(models[0]?.checkpoint.tensors ?? [])].filter(([name]) => !omitted.has(name));
  return tensors.map(([name, { shape }]) => {
    const place = places.get(name) ?? { layer: undefined, role: 'other', module: name };
    const { dtype, expression } = bind(name, expressionOf(place, name));
    const elements = elementCount(shape) ?? 0;
    return { name, dtype, shape, bytes: byteLength(dtype, elements) ?? 0, place, expression };
  });
};

/** Files of the inputs as shards may be them: PyTorch loaders insist on the format in `__metadata__`. */
const inputFiles = (models: readonly OpenedModel[]): ((source: Source) => InputFile | undefined) => {
  const names = models.map(({ checkpoint: { files, tensors } }) => {
    const inFiles = files.map(() => new Set<string>());
    for (const [name, { file }] of tensors) inFiles[file]?.add(name);
    return inFiles;
  });
  return ({ input, file }) => {
    const checkpoint = models[input]?.checkpoint;
    if (checkpoint?.metadata[file]?.['format'] !== 'pt') return undefined;
    return { bytes: checkpoint.files[file]?.bytes ?? 0, tensors: names[input]?.[file] ?? new Set() };
  };
};

const costOf = (shards: readonly PlannedShard[]): Cost => {
  const cost = {
    bytesToRead: 0,
    bytesToWrite: 0,
    bytesCopied: 0,
    bytesComputed: 0,
    bytesVerbatim: 0,
    parameters: 0,
  };
  for (const shard of shards) {
    cost.bytesToWrite += shard.bytes;
    if (shard.verbatim !== undefined) {
      cost.bytesVerbatim += shard.bytes;
      cost.bytesToRead += shard.tensors[0]?.begin ?? shard.bytes;
    }
    for (const { expression, begin, end, shape } of shard.tensors) {
      for (const source of sourcesOf(expression)) cost.bytesToRead += source.end - source.begin;
      cost[expression.kind === 'linear' ? 'bytesComputed' : 'bytesCopied'] += end - begin;
      cost.parameters += elementCount(shape) ?? 0;
    }
  }
  return cost;
};

/** What stands beside the shards: the first model's side files, the index, the model card. */
const planFiles = async (
  first: CheckpointIndex,
  recipe: Recipe,
  shards: readonly PlannedShard[],
  card: string | undefined,
): Promise<PlannedFile[]> => [
  ...(await planSideFiles(first, recipe)),
  ...(shards.length > 1 ? [{ name: indexFileName, text: indexOf(shards) }] : []),
  ...(card === undefined ? await keptCard(first) : [{ name: cardName, text: card }]),
];

const cardName = 'README.md';

const keptCard = async ({ path, sideFiles }: CheckpointIndex): Promise<PlannedFile[]> => {
  const names = sideFiles.length === 0 ? [] : await readdir(path);
  return names.includes(cardName) ? [{ name: cardName, copyOf: join(path, cardName) }] : [];
};

const planSideFiles = (
  { path, sideFiles, config }: CheckpointIndex,
  { dtype }: Recipe,
): Promise<PlannedFile[]> =>
  Promise.all(
    sideFiles.map(async (name) => {
      const file = join(path, name);
      if (name !== 'config.json' || config === undefined) return { name, copyOf: file };
      return { name, text: editConfig(await readFile(file, 'utf8'), config, dtype) };
    }),
  );

const indexOf = (shards: readonly PlannedShard[]): string => {
  const tensors = shards.flatMap((shard) => shard.tensors.map((tensor) => ({ ...tensor, file: shard.file })));
  return encodeShardIndex(new Map(tensors.map(({ name, file }) => [name, file])), {
    total_parameters: tensors.reduce((total, { shape }) => total + (elementCount(shape) ?? 0), 0),
    total_size: tensors.reduce((total, { begin, end }) => total + end - begin, 0),
  });
};

/** Families by pattern alone work, and say so. */
const unfamiliar = ({ architecture, checkpoint }: OpenedModel, { needsLayers }: Recipe): string[] => {
  const { unrecognised, family, stacks, layers } = architecture;
  if (!needsLayers || unrecognised.length === 0) return [];
  return [
    `${checkpoint.name}: family ${family} is not one layerloom knows (${unrecognised.length} tensors such as ${unrecognised[0]}); ` +
      `its ${layers} layers are those named ${stacks[0]}.N, and all else counts as outside the layers`,
  ];
};
