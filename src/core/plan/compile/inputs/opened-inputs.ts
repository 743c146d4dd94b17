import { basename } from 'node:path';
import { LayerloomError } from '../../../base/errors/errors.js';
import { itemAt, valueAt } from '../../../base/errors/lookup.js';
import type { ModelReference } from '../../../methods/framework/declaration/method.js';
import { invalidSetting } from '../../../methods/framework/declaration/settings.js';
import type { Recipe } from '../../../methods/recipe/recipe.js';
import { splitName, withName } from '../../../models/address/name.js';
import { describeArchitecture } from '../../../models/architecture/architecture.js';
import type { CheckpointIndex, FileIdentity, FileState } from '../../../models/checkpoint/checkpoint.js';
import { observePath } from '../../../models/checkpoint/same/identity.js';
import { type GivenConfig, readGivenConfig } from '../../../models/reading/given-config.js';
import { portableText } from '../../../models/sources/found-text.js';
import { type OpenedCheckpoint, openEach, openModelOrAdapter, settleNames } from './models.js';
import { type Cached, PlanningSession } from './session.js';

/** Distinct checkpoints of recipes, including nested ones. */
export interface OpenedInputs {
  /** Checkpoints in the order of a plan's `inputs`. */
  readonly checkpoints: readonly OpenedCheckpoint[];
  /**
   * Returns the index in `checkpoints` of a model as spelled in a recipe.
   *
   * @throws RangeError if the model was not opened
   */
  indexOf(model: string): number;
  /** Returns the text that names a model in complete recipes; texts are distinct. */
  textOf(model: string): string;
  /** Index of the base named in an adapter's configuration, if available. */
  baseNamed(base: string | undefined): number | undefined;
  readonly session: PlanningSession;
}

const referencesOf = (recipe: Recipe): ModelReference[] =>
  [...recipe.models, ...recipe.companions].flatMap((reference) => {
    const { model } = reference;
    if (typeof model === 'string') return [reference];
    const inner = recipe.nested.get(model);
    return inner === undefined ? [] : referencesOf(inner);
  });

export const modelsIn = (...recipes: readonly Recipe[]): ReadonlySet<string> =>
  new Set([
    ...recipes.flatMap(referencesOf).flatMap(({ model }) => (typeof model === 'string' ? [model] : [])),
    ...recipes.flatMap(({ config }) => config ?? []),
  ]);

/**
 * Opens the models of recipes and nested recipes: headers and small files, no weights.
 *
 * @throws NAME_CLASH, and the codes of `openCheckpoint`
 */
export const openInputs = async (...recipes: readonly Recipe[]): Promise<OpenedInputs> => {
  const wanted = new Map<string, ModelReference & { model: string }>();
  for (const reference of recipes.flatMap(referencesOf))
    if (typeof reference.model === 'string' && !wanted.has(reference.model))
      wanted.set(reference.model, { ...reference, model: reference.model });
  const config = await configOf(recipes);
  const given = await openEach([...wanted.values()], (model) => openModelOrAdapter(model, config));
  const bases = recipes.every(namesBase) ? [] : await basesNamed(given);
  const opened = [...given, ...bases, ...(config === undefined ? [] : [asInput(config)])];
  // Several spellings of a path are one input.
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
    baseNamed: (base) => (base === undefined ? undefined : indexes.get(base)),
    session: new PlanningSession(),
  };
};

/** @throws INVALID_PARAMETER if recipes have different ones, because each model is opened once */
const configOf = async (recipes: readonly Recipe[]): Promise<GivenConfig | undefined> => {
  const [config, ...others] = new Set(recipes.map((recipe) => recipe.config));
  if (others.length > 0)
    throw invalidSetting(['config'], config ?? others[0], 'one value, the same in all merges of a batch');
  return await readGivenConfig(config);
};

/** Lists a given configuration as an input, so that records name it and notice changes. */
const asInput = ({ given, index: checkpoint }: GivenConfig): OpenedCheckpoint => ({
  role: 'config',
  model: given,
  checkpoint,
  architecture: describeArchitecture(checkpoint),
});

const namesBase = (recipe: Recipe): boolean => referencesOf(recipe).some(({ role }) => role === 'base');

/** Opens the bases that adapters name. Ignores missing or invalid ones, because few merges need them. */
const basesNamed = async (opened: readonly OpenedCheckpoint[]): Promise<OpenedCheckpoint[]> => {
  const names = new Set(opened.flatMap(({ adapter }) => adapter?.config.base ?? []));
  const found = await Promise.all(
    [...names].map((model) =>
      openEach([{ role: 'base', model }]).catch((error: unknown) => {
        if (error instanceof LayerloomError) return [];
        throw error;
      }),
    ),
  );
  return found.flat();
};

/**
 * Records the states of files before weights are read for a plan. If a file changes later, the engine refuses
 * the plan.
 *
 * @param hashOf `samples` hashes parts of each file, `bytes` the whole file
 * @throws INPUT_CHANGED, READ_FAILED
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

const subsets: Cached<OpenedInputs> = { most: 64 };

/** Returns a recipe's inputs, numbered from 0; cached in the session. */
export const inputsOf = (recipe: Recipe, inputs: OpenedInputs): OpenedInputs => {
  const references = referencesOf(recipe).map(({ model, role }) => ({
    at: inputs.indexOf(String(model)),
    role,
  }));
  const wanted = references.map(({ at }) => at);
  const bases = namesBase(recipe)
    ? []
    : wanted.flatMap(
        (index) => inputs.baseNamed(itemAt(inputs.checkpoints, index).adapter?.config.base) ?? [],
      );
  const config = recipe.config === undefined ? [] : [inputs.indexOf(recipe.config)];
  const kept = [...new Set([...wanted, ...bases, ...config])];
  // Ignores roles, because another recipe of a batch may use the model in another role.
  const roles = kept.map((index) => references.find(({ at }) => at === index)?.role);
  const { session } = inputs;
  return session.remember(subsets, [session.idOf(inputs), kept, roles], () => subsetOf(inputs, kept, roles));
};

const subsetOf = (
  inputs: OpenedInputs,
  kept: readonly number[],
  roles: readonly (string | undefined)[],
): OpenedInputs => {
  const renumbered = new Map(kept.map((index, position) => [index, position]));
  return {
    checkpoints: kept.map((index, position) => {
      const checkpoint = itemAt(inputs.checkpoints, index);
      const role = roles[position] ?? checkpoint.role;
      return role === checkpoint.role ? checkpoint : { ...checkpoint, role };
    }),
    indexOf: (model) => valueAt(renumbered, inputs.indexOf(model)),
    textOf: inputs.textOf,
    baseNamed: (base) => {
      const index = inputs.baseNamed(base);
      return index === undefined ? undefined : renumbered.get(index);
    },
    session: inputs.session,
  };
};

/** Returns a distinct name for each spelling: methods treat two spellings of a path as two models. */
const modelTexts = (
  checkpoints: readonly OpenedCheckpoint[],
  indexes: ReadonlyMap<string, number>,
): ReadonlyMap<string, string> => {
  const spelt = new Set<number>();
  const taken = new Set(checkpoints.map(({ checkpoint }) => checkpoint.name));
  return new Map(
    [...indexes].map(([model, index]) => {
      const { checkpoint } = itemAt(checkpoints, index);
      const text = portableText(checkpoint);
      if (!spelt.has(index)) {
        spelt.add(index);
        return [model, text];
      }
      const name = freeName(basename(checkpoint.name), taken);
      taken.add(name);
      return [model, withName(name, splitName(text).rest)];
    }),
  );
};

const freeName = (name: string, taken: ReadonlySet<string>): string => {
  let count = 2;
  while (taken.has(`${name}-${count}`)) count += 1;
  return `${name}-${count}`;
};

const sameInput = (a: CheckpointIndex, b: CheckpointIndex): boolean => a.path === b.path && a.name === b.name;
