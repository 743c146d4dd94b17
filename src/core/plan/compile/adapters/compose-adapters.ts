import { LayerloomError } from '../../../base/errors/errors.js';
import { itemAt, valueAt } from '../../../base/errors/lookup.js';
import { optionName } from '../../../base/errors/option-name.js';
import { noStatistics, type Statistics } from '../../../methods/framework/declaration/method.js';
import type { Recipe } from '../../../methods/recipe/recipe.js';
import type { Architecture } from '../../../models/architecture/architecture.js';
import { describeArchitecture, type Place } from '../../../models/architecture/architecture.js';
import { ambiguous } from '../../../models/architecture/stacks.js';
import { torchName } from '../../../tensor/dtype.js';
import type { TensorReference } from '../../../tensor/reference.js';
import type { CompleteRecipe } from '../../complete-recipe.js';
import type { Composed } from '../composed.js';
import { viewOf } from '../inputs/model-view.js';
import type { OpenedModel } from '../inputs/models.js';
import { rolesOf } from '../inputs/roles.js';
import { mergedConfigText } from './adapter-config.js';
import { type AdapterModel, inSpellingOfAdapter, parametersOf } from './adapter-model.js';
import { adapterTensors } from './adapter-tensors.js';
import { checkAdapters } from './check-adapters.js';
import { combine } from './combine.js';

export interface AdapterRecipe {
  readonly recipe: Recipe;
  /** The merged models, then models that are only read, such as the base. */
  readonly opened: readonly OpenedModel[];
  /** The base in the recipe, else the base that the adapters name, if available. */
  readonly base: OpenedModel | undefined;
  readonly statistics: Statistics | undefined;
  /** True in a nested recipe, whose adapter is not written. */
  readonly isNested: boolean;
  readonly complete: (again: CompleteRecipe | undefined) => CompleteRecipe;
}

/**
 * Merges the parameters that adapters change.
 *
 * @throws FORMS_MIXED, ADAPTERS_DIFFER, and the codes of the method and of `combine`
 */
export const composeAdapters = async ({
  recipe,
  opened: given,
  base,
  statistics,
  isNested,
  complete,
}: AdapterRecipe): Promise<Composed> => {
  refuseMixed(given);
  const opened = inOneSpelling(given);
  refuseTokenizers(recipe);
  const models = opened.slice(0, recipe.models.length);
  const merged = opened.flatMap(({ adapter }) => adapter ?? []);
  const adapters = [...new Set(merged.flatMap((model) => model.adapters))];
  const named = opened.find(({ adapter, role }) => adapter === undefined && role === 'base');
  const incomplete = await checkAdapters(adapters, {
    base: base?.checkpoint,
    isNamed: named !== undefined,
  });

  const { architecture, warnings } = architectureOf(merged, models, base, recipe);
  const { layers, places } = architecture;
  const compiled = recipe.compile({
    layers,
    models: models.map((model) => ({ ...viewOf(model), layers, places })),
    ...(statistics ?? noStatistics),
  });
  if (compiled.outputs !== undefined || compiled.layersLike !== undefined)
    throw new LayerloomError('NO_ADAPTER_FORM', {
      method: recipe.method,
      reason: 'the output has other layers than the base',
    });
  const result = combine(compiled, models, { method: recipe.method, dtype: recipe.dtype, places, base });
  const rsLora = adapters.every(({ config }) => config.rsLora);
  const { tensors, targets } = adapterTensors(result, places, {
    rsLora,
    dtype: recipe.dtype,
    rank: recipe.rank,
    isNested,
    method: recipe.method,
  });
  if (targets.length === 0)
    throw new LayerloomError('NO_ADAPTER_FORM', {
      method: recipe.method,
      reason: 'no factor of the adapters is left',
    });
  const baseName = adapters.find(({ config }) => config.base !== undefined)?.config.base;
  const unmatched = compiled.unused?.() ?? [];
  const first = itemAt(models, 0);
  return {
    recipe,
    compiled,
    settled: {
      ...(opened.some((model) => model.recipe !== undefined) ? rolesOf(opened) : {}),
      ...compiled.resolved,
      ...(recipe.dtype === undefined ? {} : { dtype: torchName(recipe.dtype) }),
      ...(recipe.rank === undefined ? {} : { rank: recipe.rank }),
    },
    complete: complete(compiled.again),
    models: models.map((model) => ({ ...model, architecture })),
    companions: opened.slice(models.length),
    tensors,
    adapter: {
      model: { ...result, adapters },
      base: baseName ?? base?.checkpoint.hub?.id ?? base?.checkpoint.path,
      configText: mergedConfigText({
        adapters,
        merged: result,
        targets,
        rsLora,
        base: baseName ?? base?.checkpoint.hub?.id ?? base?.checkpoint.path,
      }),
    },
    layers,
    configEdits: {},
    generationEdits: () => ({}),
    tokenizer: { checkpoint: first.checkpoint, files: [] },
    unmatched: [...models.flatMap((model) => model.unmatched ?? []), ...unmatched],
    warnings: [
      ...models.flatMap((model) => model.warnings ?? []),
      ...incomplete,
      ...warnings,
      ...(recipe.rank === undefined || tensors.some(({ expression }) => expression.kind === 'factor')
        ? []
        : [`rank ${recipe.rank} truncates nothing: no average of the adapters' products has a higher rank`]),
      ...unmatched.map(({ what, path }) => `${what} (${path.join('.')}) matches no tensor`),
    ],
  };
};

const refuseMixed = (opened: readonly OpenedModel[]): void => {
  const full = opened.filter(({ adapter, role }) => adapter === undefined && role !== 'base');
  if (full.length > 0)
    throw new LayerloomError('FORMS_MIXED', {
      adapters: opened
        .filter(({ adapter }) => adapter !== undefined)
        .map(({ checkpoint }) => checkpoint.path),
      full: full.map(({ checkpoint }) => checkpoint.path),
    });
};

const inOneSpelling = (opened: readonly OpenedModel[]): readonly OpenedModel[] => {
  const first = opened.find(({ adapter }) => adapter !== undefined)?.adapter;
  return opened.map((model) =>
    first === undefined || model.adapter === undefined
      ? model
      : { ...model, adapter: inSpellingOfAdapter(first, model.adapter) },
  );
};

/** Refuses tokenizer settings: an adapter keeps its base's vocabulary. */
const refuseTokenizers = ({
  tokenizer: { source, tokens, padToMultipleOf },
  transplant,
  method,
}: Recipe): void => {
  const isPlain = ['auto', 'strict', 'rows'].includes(String(source));
  if (!isPlain || tokens.size > 0 || padToMultipleOf !== undefined || transplant !== undefined)
    throw new LayerloomError('NO_ADAPTER_FORM', { method, reason: 'another vocabulary is asked for' });
};

/** Returns the adapted parameters' architecture. Without a base, the last adapted layer is the last. */
const architectureOf = (
  merged: readonly AdapterModel[],
  models: readonly OpenedModel[],
  base: OpenedModel | undefined,
  { needsLayers, stack }: Recipe,
): { architecture: Architecture; warnings: readonly string[] } => {
  const { checkpoint } = itemAt(models, 0);
  const none: TensorReference = { file: 0, begin: 0, end: 0, dtype: 'F32', shape: [] };
  const found = describeArchitecture(
    {
      ...checkpoint,
      tensors: new Map(parametersOf(merged).map((parameter) => [parameter, none])),
      config: base?.checkpoint.config,
    },
    stack,
  );
  const places = new Map<string, Place>(found.places);
  const architecture = {
    ...found,
    places,
    layers: base === undefined ? found.layers : describeArchitecture(base.checkpoint, stack).layers,
    unrecognised: [],
  };
  if (!needsLayers) return { architecture, warnings: [] };
  const [only, ...others] = found.stacks;
  if (only === undefined) throw new LayerloomError('NO_LAYERS', { model: checkpoint.path });
  if (others.length > 0) throw ambiguous(checkpoint.path, found.stacks);
  if (base !== undefined) return { architecture, warnings: [] };
  return {
    architecture,
    warnings: [
      `the base of ${checkpoint.name} is not here: it is taken to have ${found.layers} layers, up to the last that is adapted; ${optionName('base')} says which it is`,
    ],
  };
};

/** True if all merged models are adapters, including those of nested recipes. */
export const isOfAdapters = (recipe: Recipe, isAdapter: (model: string) => boolean): boolean =>
  [...recipe.models, ...recipe.companions].some(({ model }) =>
    typeof model === 'string' ? isAdapter(model) : isOfAdapters(valueAt(recipe.nested, model), isAdapter),
  );
