import { basename, resolve, sep } from 'node:path';
import { LayerloomError } from '../../../base/errors/errors.js';
import { itemAt } from '../../../base/errors/lookup.js';
import { keptPath } from '../../../base/way.js';
import type { RecipePath } from '../../../methods/framework/declaration/method.js';
import { invalidSetting } from '../../../methods/framework/declaration/settings.js';
import type { Adapter } from '../../../models/adapters/adapter.js';
import { type ModelAddress, parseAddress } from '../../../models/address/address.js';
import { nameWithCommit, originOf } from '../../../models/address/found-model.js';
import { splitName } from '../../../models/address/name.js';
import { describeArchitecture } from '../../../models/architecture/architecture.js';
import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';
import { separated } from '../../../models/experts/separated.js';
import { dequantised } from '../../../models/quantisation/dequantised.js';
import type { GivenConfig } from '../../../models/reading/given-config.js';
import { type Reading, readModel, readWhole } from '../../../models/reading/read-model.js';
import type { CompleteRecipe } from '../../complete-recipe.js';
import type { Operand, PlannedInput } from '../../plan.js';
import type { AdapterModel } from '../adapters/adapter-model.js';
import { withSharedGrams } from '../shared-grams.js';
import type { TokenizerSource } from '../vocabularies/tokenizer-source.js';
import type { Model } from './compatible.js';

export interface OpenedModel extends Model {
  readonly role: string;
  /** The adapter, or the adapter of a nested recipe over bare adapters. */
  readonly adapter?: AdapterModel;
  /** Returns an input's byte range, or the formula of the tensor. */
  operandOf(name: string): Operand | undefined;
  readonly path?: RecipePath | undefined;
  /** True if the method uses only some tensors. */
  readonly inPart?: boolean;
  /** The merged vocabulary that the model's rows follow; absent for its own vocabulary. */
  readonly vocabulary?: number;
  /** This field and all below are for nested recipes. */
  readonly tokenizer?: TokenizerSource;
  /** The nested recipe with the parameters it uses. */
  readonly recipe?: Readonly<Record<string, unknown>>;
  readonly complete?: CompleteRecipe;
  readonly unmatched?: readonly Unmatched[];
  readonly warnings?: readonly string[];
  readonly configEdits?: Readonly<Record<string, unknown>>;
}

export interface Unmatched {
  readonly what: string;
  readonly path: RecipePath;
}

export interface CheckpointReference {
  readonly role: string;
  readonly model: string;
  readonly path?: RecipePath | undefined;
}

export type OpenedCheckpoint = Model & CheckpointReference & { readonly adapter?: Adapter };

/**
 * Opens models. Names in a role must be distinct, because outputs use them.
 *
 * @throws NAME_CLASH, and the codes of `openModel`
 */
export const openModels = async (
  references: readonly CheckpointReference[],
  config?: GivenConfig,
): Promise<OpenedCheckpoint[]> => {
  const opened = await openEach(references, (model) => openWhole(model, config));
  refuseSameNames(opened);
  return tellApart(opened);
};

const asMerged = (checkpoint: CheckpointIndex): CheckpointIndex => separated(dequantised(checkpoint));

const openWhole = async (model: ModelAddress, config?: GivenConfig): Promise<Reading> => ({
  checkpoint: asMerged(await readWhole(model, config)),
});

export const openModelOrAdapter = async (model: ModelAddress, config?: GivenConfig): Promise<Reading> => {
  const { checkpoint, adapter } = await readModel(model, config);
  return adapter === undefined ? { checkpoint: asMerged(checkpoint) } : { checkpoint, adapter };
};

/**
 * Opens models; a single error names all missing ones.
 *
 * @param open default: refuses bare adapters
 * @throws as `openModel`
 */
export const openEach = async (
  references: readonly CheckpointReference[],
  open: (model: ModelAddress) => Promise<Reading> = openWhole,
): Promise<OpenedCheckpoint[]> => {
  const opened = await Promise.allSettled(
    references.map(async (reference) => {
      const opening = parseAddress(reference.model).then(open);
      const { adapter, checkpoint: found } = await opening.catch((error: unknown) => {
        const wanted = isMissingModel(error) ? madeInPython[reference.role] : undefined;
        throw wanted === undefined
          ? at(error, reference.path)
          : invalidSetting(
              reference.path ?? [reference.role],
              reference.model,
              `${wanted}, which is not there`,
            );
      });
      const checkpoint = reference.role === 'gram' ? withSharedGrams(found, reference.path) : found;
      const architecture = describeArchitecture(checkpoint);
      return { ...reference, checkpoint, architecture, ...(adapter === undefined ? {} : { adapter }) };
    }),
  );
  const errors = opened.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  if (errors.length > 0) throw allMissing(errors);
  return opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
};

/** Programs that make files other than models, by role. */
const madeInPython: Readonly<Record<string, string>> = {
  gates: 'the file of the routers that `python -m layerloom_gates` makes',
  gram: 'the file of Gram matrices that `python -m layerloom.train.grams` makes',
  importance: 'the file of importances that `python -m layerloom.train.importances` makes',
};

/** True for a file that a merge needs and that is not a model. */
export const isNoModel = ({ role }: { readonly role: string }): boolean => Object.hasOwn(madeInPython, role);

const allMissing = (errors: readonly unknown[]): unknown => {
  const [first, ...others] = errors.filter((error) => isMissingModel(error));
  if (first === undefined) return errors[0];
  const { context, cause } = first;
  const details =
    others.length === 0 ? first.details : { ...first.details, others: others.map((one) => one.details) };
  return new LayerloomError('MODEL_NOT_FOUND', details, {
    cause,
    // Several models have no common position in the recipe.
    ...(others.length === 0 ? { context } : {}),
  });
};

const isMissingModel = (error: unknown): error is LayerloomError<'MODEL_NOT_FOUND'> =>
  error instanceof LayerloomError && error.code === 'MODEL_NOT_FOUND';

/**
 * Makes equal names distinct by their parent folders.
 *
 * @throws NAME_CLASH if two models of one role have the same name from `NAME=PATH`
 */
export const settleNames = (opened: readonly OpenedCheckpoint[]): OpenedCheckpoint[] => {
  refuseSameNames(opened, ({ model }) => splitName(model).name !== undefined);
  return tellApart(opened);
};

/** @param counts true for models whose name must be unique in its role; default: all */
const refuseSameNames = (
  models: readonly OpenedCheckpoint[],
  counts: (model: OpenedCheckpoint) => boolean = () => true,
): void => {
  const seen = new Map<string, OpenedCheckpoint>();
  for (const model of models) {
    const { role, checkpoint } = model;
    const key = `${role} ${checkpoint.name}`;
    const twin = seen.get(key);
    if (twin !== undefined && (counts(twin) || counts(model)))
      throw new LayerloomError('NAME_CLASH', {
        name: checkpoint.name,
        paths: [twin.checkpoint.path, checkpoint.path],
      });
    seen.set(key, model);
  }
};

/**
 * Makes equal names distinct by a hub model's commit or parent folders (`math/final`).
 *
 * @param given models with names but without prefix
 * @throws NAME_CLASH if no folder tells two models apart
 */
const tellApart = (
  models: readonly OpenedCheckpoint[],
  given: readonly OpenedCheckpoint[] = models,
  depth = 1,
): OpenedCheckpoint[] => {
  const twinOf = ({ checkpoint: { name, path } }: OpenedCheckpoint) =>
    models.find(({ checkpoint }) => checkpoint.name === name && checkpoint.path !== path);
  const [clashing] = models.filter(twinOf);
  if (clashing === undefined) return [...models];
  const { path } = clashing.checkpoint;
  if (path.split(sep).length <= depth + 1)
    throw new LayerloomError('NAME_CLASH', {
      name: itemAt(given, models.indexOf(clashing)).checkpoint.name,
      paths: [path, twinOf(clashing)?.checkpoint.path ?? path],
    });
  const prefixed = models.map((model) => {
    if (twinOf(model) === undefined) return model;
    const { checkpoint } = model;
    const { name, path } = checkpoint;
    const folder = basename(resolve(path, ...Array.from({ length: depth }, () => '..')));
    // A model in memory has a temporary folder, whose name would tell the caller nothing.
    const inMemory = keptPath(path) === path ? undefined : `${name}-${models.indexOf(model) + 1}`;
    const apart = nameWithCommit(checkpoint) ?? inMemory ?? `${folder}/${name}`;
    return { ...model, checkpoint: { ...checkpoint, name: apart } };
  });
  return tellApart(prefixed, given, depth + 1);
};

export const plannedInput = ({
  role,
  checkpoint,
}: Pick<OpenedCheckpoint, 'role' | 'checkpoint'>): PlannedInput => {
  const { name, path, adapted, files } = checkpoint;
  return {
    role,
    name,
    path,
    ...originOf(checkpoint),
    ...(adapted === undefined
      ? {}
      : { adapted: { base: adapted.base, adapter: adapted.adapter, config: adapted.config } }),
    files,
  };
};

/** Adds a position in the recipe to an error that has none. */
export const at = (error: unknown, path: RecipePath | undefined): unknown => {
  if (!(error instanceof LayerloomError) || error.context.recipePath !== undefined) return error;
  return path === undefined ? error : error.with({ recipePath: path });
};
