import { valueAt } from '../../base/errors/lookup.js';
import { optionName } from '../../base/errors/option-name.js';
import type { Factors } from '../../engine/compute/measures/factorise.js';
import { moduleOf } from './choose-tensors.js';
import type { Extraction } from './extraction.js';
import type { ExtractionPlan } from './plan-extraction.js';

export const summarise = (
  { wanted, base, expert, factors: planned, saved, norms }: ExtractionPlan,
  factors: ReadonlyMap<string, Factors>,
  squares: ReadonlyMap<string, number>,
): Extraction => {
  const savedNames = new Set(saved.map(({ name }) => name));
  const tensors: Extraction['tensors'][number][] = [];
  let [changed, missed, whole, lost] = [0, 0, 0, 0];
  for (const { name, layer, role, shape } of planned) {
    const { rank, squares: all, error, singularValues } = valueAt(factors, name);
    if (rank === 0) continue;
    changed += all;
    missed += error;
    const relative = error / all;
    const [norm, energy] = [Math.sqrt(all), Math.max(0, 1 - relative)];
    tensors.push({
      ...{ name, layer, role, shape, rank, norm },
      error: Math.sqrt(relative),
      ...{ energy, singularValues },
    });
  }
  const leftOut: Extraction['leftOut'][number][] = [];
  for (const { name } of norms) {
    const all = valueAt(squares, name);
    if (savedNames.has(name)) whole += all;
    else if (all > 0) {
      lost += all;
      leftOut.push({ name, norm: Math.sqrt(all) });
    }
  }
  const total = changed + whole + lost;
  return {
    base: base.checkpoint.name,
    expert: expert.checkpoint.name,
    rank: wanted.rank,
    energy: wanted.energy ?? null,
    dtype: wanted.dtype ?? 'model',
    error: Math.sqrt(missed / changed),
    kept: Math.max(0, 1 - (missed + lost) / total),
    lost: lost / total,
    tensors,
    saved: [...savedNames],
    unchanged: [
      ...planned.filter(({ name }) => valueAt(factors, name).rank === 0),
      ...norms.filter(({ name }) => !savedNames.has(name) && valueAt(squares, name) === 0),
    ].map(({ name }) => name),
    leftOut: leftOut.sort((a, b) => b.norm - a.norm),
  };
};

/** Warns of the lost change, and names the option that saves most of it. */
export const lossOf = ({ leftOut, lost }: Extraction): string[] => {
  const [first] = leftOut;
  if (first === undefined) return [];
  const share = lost < 0.001 ? 'less than 0.1 %' : `${(100 * lost).toFixed(1)} %`;
  const module = moduleOf(first.name);
  return [
    `${leftOut.length} changed tensors are left out, with ${share} of the model's ‖Δ‖²: the most is in ${first.name} (${optionName('saveModules', module.slice(module.lastIndexOf('.') + 1))} saves it whole)`,
  ];
};
