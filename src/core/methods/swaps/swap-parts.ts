import { LayerloomError } from '../../base/errors/errors.js';
import { optionName } from '../../base/errors/option-name.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import type { ModelReference } from '../framework/declaration/method.js';
import type { ModelInput } from '../framework/declaration/recipe-input.js';
import { formatLayers, type LayerSet, parseLayers } from '../framework/layer-set.js';
import { type Part, type PartParameters, partOf, type Share } from '../framework/parts.js';
import { same } from '../framework/tensors/tensor-recipe.js';
import type { Counts } from './swap-counts.js';

const roles = ['task', 'language', 'base'] as const;

type Role = (typeof roles)[number];

const isRole = (of: ModelInput): of is Role => roles.some((role) => role === of);

/** Parameters, other than counts, that divide a swap's output into parts. */
export interface Dividing {
  readonly task?: ModelInput | undefined;
  readonly language?: ModelInput | undefined;
  readonly base?: ModelInput | undefined;
  readonly others: 'average' | 'task' | 'language';
  readonly langLayers?: LayerSet | undefined;
  readonly baseLayers?: LayerSet | undefined;
  readonly parts?: readonly PartParameters[] | undefined;
}

export type SwapModels = Omit<Dividing, 'others' | 'langLayers'>;

const range = (first: number, end: number): readonly number[] =>
  Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);

const named = (of: Role): readonly Share[] => [{ of, weight: 1 }];

/** Returns the recipe's parts, or the parts that lists of layers imply; the rest is the task expert's. */
export const partsOf = (
  { others, langLayers, baseLayers, parts }: Dividing,
  { bottom, top, bottomTransition, topTransition }: Counts,
  layers: number,
  average: readonly Share[],
): readonly Part[] => {
  if (parts !== undefined) return parts.map(partOf);
  const part = (
    shares: readonly Share[],
    of: readonly number[] | 'rest' | 'outside',
    { parameter, name }: { readonly parameter: string; readonly name: string },
  ): Part => ({
    shares,
    layers: typeof of === 'string' ? of : new Set(of),
    modules: undefined,
    name,
    path: [parameter],
  });
  const language = named('language');
  const byCounts = [
    part(language, range(0, bottom), { parameter: 'bottom', name: optionName('bottom') }),
    part(average, range(bottom, bottom + bottomTransition), {
      parameter: 'bottomTransition',
      name: optionName('bottomTransition'),
    }),
    part(average, range(layers - top - topTransition, layers - top), {
      parameter: 'topTransition',
      name: optionName('topTransition'),
    }),
    part(language, range(layers - top, layers), { parameter: 'top', name: optionName('top') }),
  ];
  const byNumbers = part(language, listed(langLayers), {
    parameter: 'langLayers',
    name: optionName('langLayers'),
  });
  return [
    ...(langLayers === undefined ? byCounts : [byNumbers]),
    part(named('base'), listed(baseLayers), { parameter: 'baseLayers', name: optionName('baseLayers') }),
    part(others === 'average' ? average : named(others), 'outside', {
      parameter: 'others',
      name: optionName('others'),
    }),
    part(named('task'), 'rest', { parameter: 'task', name: optionName('task') }),
  ].filter(({ layers: of }) => typeof of !== 'object' || of.size > 0);
};

const listed = (set: LayerSet | undefined): readonly number[] =>
  set === undefined ? [] : (parseLayers(set) ?? []);

/** True if a swap merges the base; false if it only checks it. */
export const takesFromBase = (parameters: Readonly<Record<string, unknown>>): boolean => {
  const { baseLayers, parts } = parameters;
  const names = (part: unknown): boolean =>
    isObject(part) &&
    (part['model'] === 'base' || (Array.isArray(part['models']) && part['models'].includes('base')));
  return (baseLayers ?? undefined) !== undefined || (Array.isArray(parts) && parts.some(names));
};

/**
 * Lists a swap's models. The first gives names, dtypes and side files: the task expert, else the model of the
 * part `rest`, else of the first part.
 *
 * @throws INVALID_PARAMETER for a part whose model is not in the recipe
 */
export const swapModels = (parameters: SwapModels): ModelReference[] => {
  const { task, parts } = parameters;
  if (parts === undefined) {
    const used: readonly Role[] = takesFromBase({ ...parameters })
      ? ['task', 'language', 'base']
      : ['task', 'language'];
    return used.map((role) => referenceOf(parameters, role, role === 'base' ? ['baseLayers'] : [role]));
  }
  const rests = parts.filter(({ layers }) => layers === 'rest');
  const rest = rests.find(({ modules }) => modules === undefined) ?? rests[0] ?? parts[0];
  const found: ModelReference[] = task === undefined ? [] : [{ role: 'task', model: task }];
  const ordered = rest === undefined ? parts : [rest, ...parts.filter((part) => part !== rest)];
  for (const part of ordered) {
    const index = parts.indexOf(part);
    const listOf = part.models ?? (part.model === undefined ? [] : [part.model]);
    for (const [at, of] of listOf.entries()) {
      const path = part.models === undefined ? ['parts', index, 'model'] : ['parts', index, 'models', at];
      const reference = referenceOf(parameters, of, path);
      if (!found.some(({ model }) => same(model, reference.model))) found.push(reference);
    }
  }
  return found;
};

const referenceOf = (
  parameters: SwapModels,
  of: ModelInput,
  path: readonly (string | number)[],
): ModelReference => {
  if (!isRole(of)) return { role: 'model', model: of, path };
  const model = parameters[of];
  if (model === undefined)
    throw new LayerloomError(
      'INVALID_PARAMETER',
      {
        parameter: of,
        value: null,
        expected:
          path[0] === 'parts'
            ? `the model that ${path.join('.')} means by ${of}; a directory of that name is ./${of}`
            : `the model that layers are taken from by ${optionName('baseLayers')}`,
      },
      { context: { recipePath: path } },
    );
  return { role: of, model };
};

export const positionsOf = (parameters: SwapModels): ((of: ModelInput) => number) => {
  const models = swapModels(parameters);
  return (of) => {
    const wanted = isRole(of) ? parameters[of] : of;
    return models.findIndex(({ model }) => same(model, wanted));
  };
};

export const spellLayers = (set: LayerSet | undefined): string | undefined =>
  set === undefined ? undefined : formatLayers(listed(set));
