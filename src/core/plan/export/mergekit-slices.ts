import { itemAt, valueAt } from '../../base/errors/lookup.js';
import { normalise } from '../../methods/framework/declaration/parameters.js';
import { type SwapModels, swapModels } from '../../methods/swaps/swap-parts.js';
import { familyOfType } from '../../models/architecture/families.js';
import { roleOutside } from '../../models/architecture/roles.js';
import { adaptedIn, formulaOf, tensorOf } from '../operands.js';
import type { MergePlan, PlannedExpression, PlannedTensor } from '../plan.js';
import { modelOf } from './mergekit-models.js';
import { cannotSay } from './mergekit-unsupported.js';

type Json = Readonly<Record<string, unknown>>;

type Weights = readonly number[];

interface Run {
  readonly first: number;
  end: number;
  /** Weights of most tensors in these layers. */
  readonly weights: Weights;
  /** Weights of other tensors, by a part of their names. */
  readonly others: Map<string, Weights>;
}

/**
 * Writes copies and weighted averages as mergekit's `linear`: whole models, or slices with weights. If every
 * slice is a copy, uses `passthrough`, which copies bits.
 *
 * @param complete the plan's recipe, with models as mergekit finds them
 * @throws EXPORT_UNSUPPORTED
 */
export const averagesIn = (plan: MergePlan, complete: Json): Json => {
  if (plan.method === 'soup') return soup(complete);
  const models = modelsIn(plan, complete);
  const runs = runsOf(plan, models);
  const donor = modelOf(itemAt(models, 0));
  if (runs.every(({ weights, others }) => others.size === 0 && weights.includes(1)))
    return {
      merge_method: 'passthrough',
      base_model: donor,
      slices: runs.map(({ first, end, weights }) => ({
        sources: [{ model: modelOf(itemAt(models, weights.indexOf(1))), layer_range: [first, end] }],
      })),
    };
  return {
    merge_method: 'linear',
    base_model: donor,
    slices: runs.map(({ first, end, weights, others }) => ({
      sources: models.map((model, index) => ({
        model: modelOf(model),
        layer_range: [first, end],
        parameters: { weight: weightOf(index, weights, others) },
      })),
    })),
    parameters: { normalize: false },
  };
};

const soup = ({ models, weights }: Json): Json => {
  const listed = (models as readonly unknown[]).map(modelOf);
  const shares = normalise((weights as Weights | undefined) ?? listed.map(() => 1));
  return {
    merge_method: 'linear',
    base_model: listed[0],
    models: listed.map((model, index) => ({ model, parameters: { weight: itemAt(shares, index) } })),
    parameters: { normalize: false },
  };
};

const weightOf = (index: number, weights: Weights, others: Run['others']): unknown => {
  const value = itemAt(weights, index);
  if (others.size === 0) return value;
  return [...[...others].map(([filter, of]) => ({ filter, value: itemAt(of, index) })), { value }];
};

const modelsIn = ({ inputs, shards }: MergePlan, complete: Json): unknown[] => {
  const used = shards.flatMap(({ tensors }) =>
    tensors.flatMap(({ name, expression }) => termsOf(name, expression).map(({ input }) => input)),
  );
  const last = used.reduce((most, input) => Math.max(most, input), 0);
  const ofParts = 'parts' in complete ? swapModels(complete as SwapModels) : [];
  const others = ofParts.filter(({ role }) => role === 'model');
  return inputs.slice(0, last + 1).map(({ role }, index) => {
    if (role !== 'model') return complete[role === 'expert' ? 'model' : role];
    const before = inputs.slice(0, index).filter((input) => input.role === 'model');
    return itemAt(others, before.length).model;
  });
};

const ofRows = new Set<string | undefined>([undefined, 'assemble', 'padRows']);

const termsOf = (name: string, expression: PlannedExpression): { input: number; weight: number }[] => {
  if (expression.kind === 'copy') return [{ input: expression.source.input, weight: 1 }];
  // `same` is for integer tensors, which are equal in all models and have no weights.
  if (expression.kind === 'same') return [];
  if (expression.kind === 'rowSelect')
    return cannotSay(`rows that are reverted one by one (${name})`, 'revert whole layers (bottom, top)');
  const adapted = adaptedIn(expression);
  if (adapted !== undefined) return [{ input: adapted.input, weight: 1 }];
  if (expression.kind !== 'linear') return cannotSay(`how ${name} is made`, 'merge with layerloom');
  return expression.terms.map(({ source, weight }) => {
    const tensor = tensorOf(source);
    if (tensor !== undefined) return { input: tensor.input, weight };
    if (ofRows.has(formulaOf(source)?.kind)) return cannotSay(`how ${name} is made`, 'merge with layerloom');
    return cannotSay(`a recipe in the place of a model (${name})`, 'merge it by itself, and name its output');
  });
};

const runsOf = (plan: MergePlan, models: readonly unknown[]): Run[] => {
  const { layers } = plan.architecture;
  const family = familyOfType(plan.architecture.family);
  const tensors = plan.shards.flatMap((shard) => shard.tensors);
  const weighted = tensors.flatMap((tensor): [PlannedTensor, Weights][] => {
    const terms = termsOf(tensor.name, tensor.expression);
    if (terms.length === 0) return [];
    return [
      [
        tensor,
        models.map((_, index) =>
          terms.reduce((sum, { input, weight }) => (input === index ? sum + weight : sum), 0),
        ),
      ],
    ];
  });
  const runs: Run[] = [];
  for (let layer = 0; layer < layers; layer += 1) {
    const run = runOf(
      layer,
      weighted.filter(([tensor]) => tensor.layer === layer),
    );
    const last = runs.at(-1);
    if (last !== undefined && sameKey(last) === sameKey(run)) last.end = run.end;
    else runs.push(run);
  }
  const [first, last] = [runs[0], runs.at(-1)];
  if (first === undefined || last === undefined)
    return cannotSay('a model without layers', 'merge with layerloom');
  const tower = tensors.find(({ name, layer }) => layer === null && roleOutside(family, name) === 'tower');
  if (tower !== undefined)
    cannotSay(
      `slices of a model with other towers than the language model's (${tower.name})`,
      'mergekit has slices for models of one tower only; merge with layerloom',
    );
  // mergekit takes embeddings' parameters from the first slice, and other outside tensors' parameters from the last
  // (for families unknown to it, from the first).
  const outside = weighted.filter(([{ layer }]) => layer === null);
  for (const [{ name }, weights] of outside) {
    const places = roleOutside(family, name) === 'embedding' ? [first] : [first, last];
    if (places.some((run) => JSON.stringify(weights) !== JSON.stringify(run.weights)))
      for (const run of places) run.others.set(name, weights);
  }
  checkFilters(runs, weighted);
  return runs;
};

const sameKey = ({ weights, others }: Run): string => JSON.stringify([weights, [...others].sort()]);

const runOf = (layer: number, tensors: readonly (readonly [PlannedTensor, Weights])[]): Run => {
  const counts = new Map<string, number>();
  for (const [, weights] of tensors)
    counts.set(JSON.stringify(weights), (counts.get(JSON.stringify(weights)) ?? 0) + 1);
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  if (most === undefined) return cannotSay(`layer ${layer} without tensors`, 'merge with layerloom');
  const others = tensors.flatMap(([{ name }, weights]): [string, Weights][] =>
    JSON.stringify(weights) === most[0] ? [] : [[moduleOf(name, layer), weights]],
  );
  return { first: layer, end: layer + 1, weights: JSON.parse(most[0]) as Weights, others: new Map(others) };
};

const moduleOf = (name: string, layer: number): string => {
  const [, module] = name.split(`.${layer}.`);
  return module ?? name;
};

const checkFilters = (
  runs: readonly Run[],
  weighted: readonly (readonly [PlannedTensor, Weights])[],
): void => {
  for (const { first, end, weights, others } of runs)
    for (const [{ name, layer }, wanted] of weighted) {
      if (layer === null || layer < first || layer >= end) continue;
      const filter = [...others.keys()].find((part) => name.includes(part));
      const chosen = filter === undefined ? weights : valueAt(others, filter);
      if (JSON.stringify(chosen) !== JSON.stringify(wanted))
        cannotSay(`weights that ${name} has alone`, 'no filter of mergekit tells it from others');
    }
};
