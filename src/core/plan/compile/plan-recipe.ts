import { basename, relative } from 'node:path';
import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { groupBy, itemAt } from '../../base/errors/lookup.js';
import { optionName } from '../../base/errors/option-name.js';
import { exists } from '../../base/files/exists.js';
import { version } from '../../base/files/version.js';
import { isBuiltIn, methods } from '../../methods/index.js';
import { allRecipes, type Recipe } from '../../methods/recipe/recipe.js';
import type { CheckpointIndex } from '../../models/checkpoint/checkpoint.js';
import { indexNames, readerOf, writer } from '../../models/checkpoint/containers/containers.js';
import { adapterConfigName, cardName } from '../../models/checkpoint/files/file-names.js';
import { checkSideFile } from '../../models/checkpoint/files/small-file.js';
import { type Layout, layouts } from '../../models/checkpoint/layouts.js';
import { sideFilePath } from '../../models/checkpoint/side-file-content.js';
import { listOtherFiles } from '../../models/checkpoint/side-files.js';
import { storedTensors } from '../../models/checkpoint/stored-tensors.js';
import type { ExpertLayout } from '../../models/experts/layouts.js';
import { elementCount } from '../../tensor/reference.js';
import {
  bytesOfSources,
  distinctSources,
  type IdOfSource,
  idByPath,
  type StoredTensor,
} from '../../tensor/stored-tensor.js';
import { pictureOf } from '../card/layer-picture.js';
import { writeModelCard } from '../card/model-card.js';
import {
  defaultShardSize,
  type InputFile,
  indexTextOf,
  type LayoutOptions,
  layOut,
  parseShardSize,
} from '../layout.js';
import { keepsBits, passesOf, sourcesOf, sourcesRead } from '../operands.js';
import type { Cost, MergePlan, PlannedFile, PlannedShard } from '../plan.js';
import { notesOf } from '../reports/method-report.js';
import { compose } from './compose.js';
import { type Composed, requireMatches, type StatisticsByRecipe } from './composed.js';
import { isNoModel, type OpenedCheckpoint, type OpenedModel, plannedInput } from './inputs/models.js';
import { type OpenedInputs, openInputs } from './inputs/opened-inputs.js';
import { planSideFiles } from './side-files.js';

export interface PlanOptions {
  /** Default: `layer`. */
  layout?: Layout | undefined;
  /** Bytes, or a size such as `5GB`, the default. */
  maxShardSize?: string | number | undefined;
  /** Layout of experts; overrides the recipe's. */
  experts?: ExpertLayout | undefined;
  cardNotes?: readonly string[] | undefined;
  /** Refuse filters that match no tensor, and keys that mergekit ignores. */
  strict?: boolean | undefined;
}

/**
 * Opens the recipe's models (headers and small files, no weights), checks that they are compatible, and fixes
 * every byte range of the output.
 *
 * @param statistics measurements for the recipe and its nested recipes
 * @throws the codes of recipes, checkpoints and incompatible models
 */
export const planRecipe = async (
  recipe: Recipe,
  options: PlanOptions,
  statistics: StatisticsByRecipe,
  inputs?: OpenedInputs,
): Promise<MergePlan> => {
  const layout = parseLayout({
    layout: options.layout ?? recipe.layout,
    maxShardSize: options.maxShardSize ?? (recipe.maxShardSize as string | undefined),
  });
  const opened = inputs ?? (await openInputs(recipe));
  const composed = await compose(recipe, opened, statistics, options.experts);
  if (options.strict) requireMatches(composed);
  const { models, settled, tensors, layers } = composed;
  const experts = options.experts ?? recipe.experts;
  const complete = {
    ...composed.complete,
    ...(experts === undefined ? {} : { experts }),
    ...layoutKeys(layout),
  };
  const first = models[0] as OpenedModel;

  const { adapter } = composed;
  const form = adapter === undefined ? {} : ({ form: 'adapter' } as const);
  const shards = layOut(tensors, layout, inputFiles(opened.checkpoints), form.form);
  const index = indexTextOf(shards);
  const planned = opened.checkpoints.map(plannedInput);
  const { family, naming } = first.architecture;
  const sideFiles = await planSideFiles(composed, opened.session);
  const plan: MergePlan = {
    layerloom: version,
    method: recipe.method,
    title: recipe.title,
    ...form,
    ...(recipe.allowNonFinite ? ({ allowNonFinite: true } as const) : {}),
    recipe: settled,
    completeRecipe: complete,
    architecture: { family: composed.compiled.mixture?.family ?? family, naming, layers },
    inputs: planned,
    shards,
    files: [
      ...sideFiles,
      ...(adapter === undefined ? [] : [{ name: adapterConfigName, text: adapter.configText }]),
      ...(index === undefined ? [] : [{ name: writer.indexName, text: index }]),
    ],
    cost: costOf(shards, idByPath(planned)),
    warnings: [
      ...composed.warnings,
      ...(adapter === undefined ? withoutConfig(first) : []),
      ...configUnread(opened),
      ...unfamiliar(first, recipe),
      ...(await leftBehind(first)),
      ...ofDiffusers(first),
    ],
  };
  const card = recipe.keepsCard
    ? await keptCard(first.checkpoint)
    : [await planCard(plan, composed, opened, options.cardNotes)];
  return { ...plan, files: [...plan.files, ...card] };
};

/** Plans the model card. It lists models in the output, not those only used for checks. */
const planCard = async (
  plan: MergePlan,
  { recipe, models, adapter }: Composed,
  { checkpoints }: OpenedInputs,
  cardNotes: readonly string[] = [],
): Promise<PlannedFile> => {
  const tensors = plan.shards.flatMap((shard) => shard.tensors);
  const read = new Set(
    tensors.flatMap(({ expression }) => sourcesOf(expression).map(({ input }) => itemAt(checkpoints, input))),
  );
  const inputs = checkpoints
    .filter((opened) => read.has(opened) && !isNoModel(opened))
    .map(({ checkpoint }) => checkpoint);
  const isIn = ({ checkpoint, complete }: OpenedModel) =>
    // Compares by path, because a model whose rows were moved is another object.
    complete !== undefined || inputs.some(({ path }) => path === checkpoint.path);
  // Puts the base last, unless the method interpolates from it.
  const inOrder = methods.get(recipe.method)?.takes.startsFromBase
    ? models
    : models.toSorted((a, b) => Number(a.role === 'base') - Number(b.role === 'base'));
  const recipes = allRecipes(recipe);
  const text = await writeModelCard({
    ...recipe,
    citations: [...new Set(recipes.flatMap(({ citations }) => citations))],
    plugins: [...new Set(recipes.map(({ method }) => method).filter((method) => !isBuiltIn(method)))],
    names: [...new Set(inOrder.filter(isIn).map(({ checkpoint }) => checkpoint.name))],
    inputs,
    recipe: plan.completeRecipe,
    notes: notesOf(plan),
    scoreNotes: cardNotes,
    picture: pictureOf(plan),
    ...(adapter === undefined ? {} : { adapterOf: adapter.base ?? null }),
    config: adapter === undefined ? models[0]?.checkpoint.config : undefined,
    sideFiles: plan.files.map(({ name }) => name),
  });
  return { name: cardName, text };
};

export const parseLayout = ({ layout = 'layer', maxShardSize = defaultShardSize }: PlanOptions) => {
  if (!layouts.includes(layout)) throw invalidParameter('layout', layout, 'layer or size');
  return { layout, maxShardBytes: parseShardSize(maxShardSize) };
};

const layoutKeys = ({ layout, maxShardBytes }: LayoutOptions): Record<string, unknown> => ({
  ...(layout === 'layer' ? {} : { layout }),
  ...(maxShardBytes === parseShardSize(defaultShardSize) ? {} : { max_shard_size: maxShardBytes }),
});

const configUnread = ({ checkpoints }: OpenedInputs): string[] => {
  const given = checkpoints.find(({ role }) => role === 'config')?.checkpoint;
  return given === undefined || checkpoints.some(({ checkpoint }) => checkpoint.configGiven !== undefined)
    ? []
    : [`${optionName('config')} ${given.path} is not read, because each model has a config.json`];
};

const isBareFile = ({ files, path, folder }: CheckpointIndex): boolean =>
  folder === undefined && files[0]?.path === path;

const withoutConfig = ({ checkpoint }: OpenedModel): string[] => {
  const { config, path } = checkpoint;
  if (config !== undefined) return [];
  return [
    isBareFile(checkpoint)
      ? `${path} is a single file, so the output has no config.json, which loaders need; name its base by ${optionName('config')}`
      : `${path} has no config.json, and so the output has none; loaders need one: name its base by ${optionName('config')}`,
  ];
};

/** Returns the input file that may become an output shard; undefined if loaders would refuse it. */
export const inputFiles = (
  models: readonly OpenedCheckpoint[],
): ((source: StoredTensor) => InputFile | undefined) => {
  const names = models.map(({ checkpoint }) => {
    const inFiles = checkpoint.files.map(() => new Map<string, number>());
    for (const [name, { file, begin }] of storedTensors(checkpoint)) inFiles[file]?.set(name, begin);
    return inFiles;
  });
  return ({ input, file }) => {
    const { files, metadata, adapted } = itemAt(models, input).checkpoint;
    const { path, bytes } = itemAt(files, file);
    if (adapted?.foreignFiles.includes(file)) return undefined;
    if (!writer.takes(readerOf(path), itemAt(metadata, file))) return undefined;
    return { bytes, tensors: itemAt(itemAt(names, input), file) };
  };
};

const costOf = (shards: readonly PlannedShard[], idOf: IdOfSource): Cost => {
  const cost = {
    bytesToRead: 0,
    bytesToMeasure: 0,
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
      cost.bytesToRead += bytesOfSources(distinctSources(sourcesRead(expression), idOf));
      for (const { sources } of passesOf(expression))
        cost.bytesToMeasure += bytesOfSources(distinctSources(sources, idOf));
      cost[keepsBits(expression) ? 'bytesCopied' : 'bytesComputed'] += end - begin;
      // Scales of quantised weights do not count as parameters.
      if (expression.kind !== 'quantise' || expression.part === 'codes')
        cost.parameters += elementCount(shape) ?? 0;
    }
  }
  return cost;
};

/** True if the side files are from the folder of `--config`, whose other files are not the model's. */
const hasGivenConfig = ({ configGiven }: CheckpointIndex): boolean => configGiven === 'withFiles';

const keptCard = async (checkpoint: CheckpointIndex): Promise<PlannedFile[]> => {
  const file = sideFilePath(checkpoint, cardName);
  if (checkpoint.sideFiles.length === 0 || hasGivenConfig(checkpoint) || !(await exists(file))) return [];
  await checkSideFile(file);
  return [{ name: cardName, copyOf: file }];
};

const leftBehind = async ({ checkpoint }: OpenedModel): Promise<string[]> => {
  const { adapted, name, path, folder = path, sideFiles, unread = [] } = checkpoint;
  // Skips single weight files, whose neighbours may be unrelated, and adapters, whose neighbours are from
  // training.
  if (adapted !== undefined || isBareFile(checkpoint) || sideFiles.length + unread.length === 0) return [];
  if (hasGivenConfig(checkpoint)) return [];
  const weights = checkpoint.files.map((file) => relative(folder, file.path));
  const own = new Set([...sideFiles, ...indexNames, ...weights]);
  const others = (await listOtherFiles(folder, own)).toSorted(
    (a, b) => Number(unread.includes(b)) - Number(unread.includes(a)),
  );
  if (others.length === 0) return [];
  const groups = [...groupBy(others, withoutNumber)].map(([pattern, [only = '', ...more]]) =>
    more.length === 0 ? only : pattern,
  );
  const [shown, more] = [groups.slice(0, mostShown).join(', '), groups.length - mostShown];
  return [
    `files of ${name} that the output does not get: ${shown}${more > 0 ? ` and ${more} more` : ''}; copy what it needs`,
  ];
};

const withoutNumber = (file: string): string => file.replace(/-\d{5}(?=-of-\d{5}\.)/, '-*');

const mostShown = 8;

const ofDiffusers = ({ checkpoint }: OpenedModel): string[] =>
  checkpoint.files.some(({ path }) => basename(path).startsWith('diffusion_pytorch_model'))
    ? [
        `diffusers looks for diffusion_pytorch_model.safetensors, and the output has ${writer.shardName(0, 1)}: write one file (${optionName('layout', 'size')}), and rename it`,
      ]
    : [];

/** Warns of families that are only recognised by patterns in tensor names. */
const unfamiliar = ({ architecture, checkpoint }: OpenedModel, { needsLayers }: Recipe): string[] => {
  const { unrecognised, family, stacks, layers } = architecture;
  if (!needsLayers || unrecognised.length === 0) return [];
  return [
    `${checkpoint.name}: family ${family} is not one layerloom knows (${unrecognised.length} tensors such as ${unrecognised[0]}); ` +
      `its ${layers} layers are those named ${stacks[0]}.N, and all else counts as outside the layers`,
  ];
};
