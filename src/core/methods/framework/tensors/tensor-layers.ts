import { LayerloomError } from '../../../base/errors/errors.js';
import type { Place } from '../../../models/architecture/architecture.js';
import type { CompileContext, Compiled, OutputTensor } from '../declaration/method.js';
import type { ModelInput } from '../declaration/recipe-input.js';
import { invalidSetting } from '../declaration/settings.js';
import type { LayerSlice, TensorRecipe } from './tensor-recipe.js';

/** An output layer: its slice, its index in the slice, and its position in the slice from 0 to 1. */
export interface Layer {
  readonly slice: LayerSlice;
  readonly offset: number;
  readonly t: number;
}

export const wholeModels = (recipe: TensorRecipe, layers: number): LayerSlice => ({
  sources: recipe.models.map((entry) => ({ ...entry, layerRange: [0, layers] as const })),
  base: undefined,
  settings: {},
  path: [],
});

export const layersOf = (slice: LayerSlice): Layer[] => {
  const [first = 0, end = 0] = slice.sources[0]?.layerRange ?? [];
  const count = end - first;
  // In a slice of one layer, gradients take their last value, as in mergekit.
  return Array.from({ length: count }, (_, offset) => ({
    slice,
    offset,
    t: count > 1 ? offset / (count - 1) : 1,
  }));
};

/** Returns a layer's place. Outside the layers: the start of the first slice (embeddings) or the last. */
export const placeIn = (
  slices: readonly LayerSlice[],
  layers: readonly Layer[],
  { layer, role }: Place,
): Layer => {
  const found = layer === undefined ? undefined : layers[layer];
  if (found !== undefined) return found;
  const slice = (role === 'embedding' ? slices[0] : slices.at(-1)) as LayerSlice;
  return { slice, offset: 0, t: 0 };
};

export const checkRanges = (
  slices: readonly LayerSlice[],
  viewOf: (model: ModelInput) => CompileContext['models'][number] | undefined,
): void => {
  for (const { sources } of slices)
    for (const { model, layerRange, path } of sources) {
      const view = viewOf(model);
      if (view !== undefined && layerRange[1] > view.layers)
        throw invalidSetting(
          [...path, 'layerRange'],
          layerRange,
          `layers of ${view.name}, which has ${view.layers} (0 to ${view.layers - 1}; the range's end is not in it)`,
        );
    }
};

const indexed = new WeakMap<object, ReadonlyMap<string, string>>();

const namesOf = (view: CompileContext['models'][number]): ReadonlyMap<string, string> => {
  const names =
    indexed.get(view) ??
    new Map([...view.places].map(([name, { layer, module }]) => [`${layer} ${module}`, name]));
  indexed.set(view, names);
  return names;
};

/** Returns the name of the same module's tensor in another layer. */
export const nameIn = (
  view: CompileContext['models'][number] | undefined,
  layer: number,
  module: string,
  tensor: string,
): string => {
  const name = view === undefined ? undefined : namesOf(view).get(`${layer} ${module}`);
  if (name !== undefined) return name;
  throw new LayerloomError('TENSOR_NAMES_DIFFER', {
    first: tensor,
    other: view?.name ?? '',
    missing: [`layer ${layer} ${module}`],
    unexpected: [],
  });
};

export const stacked = (
  layers: readonly Layer[],
  slices: readonly LayerSlice[],
  { models }: CompileContext,
  indexOf: (model: ModelInput | undefined) => number,
): Pick<Compiled, 'outputs' | 'layersLike' | 'leavesDraftsOut' | 'warnings'> => {
  const outputs: OutputTensor[] = [];
  const drafts: string[] = [];
  const sourceOf = (slice: LayerSlice) => {
    const source = slice.sources[0];
    return { model: indexOf(source?.model), first: source?.layerRange[0] ?? 0 };
  };
  const outside = (slice: LayerSlice | undefined, wanted: (role: Place['role']) => boolean) => {
    if (slice === undefined) return;
    const { model } = sourceOf(slice);
    const view = models[model];
    const numbered = view === undefined || view.layers === layers.length ? undefined : stackOf(view);
    for (const [name, place] of view?.places ?? [])
      if (place.layer === undefined && wanted(place.role)) {
        if (numbered !== undefined && place.role === 'tower' && isNumbered(name, numbered)) drafts.push(name);
        else outputs.push({ name, like: { model, tensor: name }, place });
      }
  };
  outside(slices[0], (role) => role === 'embedding');
  const layersLike = layers.map(({ slice, offset }, layer) => {
    const { model, first } = sourceOf(slice);
    for (const [name, place] of models[model]?.places ?? [])
      if (place.layer === first + offset) {
        const renumbered = name
          .slice(0, name.length - place.module.length - 1)
          .replace(/\d+$/, String(layer));
        outputs.push({
          name: `${renumbered}.${place.module}`,
          like: { model, tensor: name },
          place: { ...place, layer },
        });
      }
    const others = slice.sources.slice(1).map((source) => ({
      model: indexOf(source.model),
      layer: source.layerRange[0] + offset,
    }));
    return { model, layer: first + offset, ...(others.length === 0 ? {} : { with: others }) };
  });
  outside(slices.at(-1), (role) => role !== 'embedding');
  return {
    outputs,
    layersLike,
    ...(drafts.length === 0 ? {} : { leavesDraftsOut: true, warnings: [withoutDrafts(drafts)] }),
  };
};

const stackOf = ({ places }: CompileContext['models'][number]): string | undefined => {
  for (const [name, { layer, module }] of places)
    if (layer !== undefined) return name.slice(0, name.length - module.length - String(layer).length - 1);
  return undefined;
};

/** True for a tensor of multi-token prediction: it is outside the layers, but has a layer number. */
const isNumbered = (name: string, stack: string): boolean =>
  name.startsWith(stack) && /^\d+\./.test(name.slice(stack.length));

const withoutDrafts = (names: readonly string[]): string =>
  `layers of multi-token prediction are left out (${names.length} tensors such as ${names[0]}), as the number of layers before them changes`;
