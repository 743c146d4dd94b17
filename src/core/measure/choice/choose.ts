import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import { type ExpertChange, type MeasuredModule, measuredModules } from './expert-change.js';
import type { Statistic, UnitKind } from './rules.js';

/** A layer, or a module of a layer, with its share of each expert's change. */
export interface Unit {
  readonly layer: number;
  /** The module; null for the whole layer. */
  readonly module: MeasuredModule | null;
  /** Share of the task expert's change; the shares of all units sum to 1. */
  readonly task: number;
  readonly language: number;
}

export type UnitSource = 'task' | 'language' | 'blend';

export interface ChosenUnit extends Unit {
  readonly from: UnitSource;
}

/**
 * Returns units from the bottom up. A layer's change is the sum over its matrices. A module's is the root of
 * the sum of squares, as the authors of arXiv 2601.22620 compute it.
 *
 * @throws MEASUREMENT_INVALID if bases or measures differ, or an expert changed nothing
 */
export const unitsOf = (task: ExpertChange, language: ExpertChange, kind: UnitKind): Unit[] => {
  const fail = (reason: string) => new LayerloomError('MEASUREMENT_INVALID', { file: language.file, reason });
  if (task.measure !== language.measure)
    throw fail(`is of another kind than ${task.file}: one of analyze, the other of diff`);
  if (task.base !== language.base || task.layers !== language.layers)
    throw fail(`is of another base than ${task.file}: ${language.base} and ${task.base}`);
  const [first, second] = [changesOf(task, kind), changesOf(language, kind)];
  if ([...first.keys()].join() !== [...second.keys()].join())
    throw fail(`has matrices in other layers or modules than ${task.file}`);
  const [ofTask, ofLanguage] = [sharesOf(first, task), sharesOf(second, language)];
  return [...first.keys()].map((key, index) => {
    const [layer = '', module] = key.split(' ');
    return {
      layer: Number(layer),
      module: measuredModules.find((name) => name === module) ?? null,
      task: itemAt(ofTask, index),
      language: itemAt(ofLanguage, index),
    };
  });
};

const changesOf = ({ matrices }: ExpertChange, kind: UnitKind): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>();
  const sorted = [...matrices].sort((a, b) => a.layer - b.layer || a.module.localeCompare(b.module));
  for (const { layer, module, change } of sorted) {
    const key = kind === 'layer' ? `${layer}` : `${layer} ${module}`;
    sums.set(key, (sums.get(key) ?? 0) + (kind === 'layer' ? change : change ** 2));
  }
  return kind === 'layer' ? sums : new Map([...sums].map(([key, sum]) => [key, Math.sqrt(sum)]));
};

const sharesOf = (changes: ReadonlyMap<string, number>, { file }: ExpertChange): number[] => {
  const total = [...changes.values()].reduce((sum, change) => sum + change, 0);
  if (!(total > 0 && Number.isFinite(total)))
    throw new LayerloomError('MEASUREMENT_INVALID', { file, reason: 'is of an expert that changed nothing' });
  return [...changes.values()].map((change) => change / total);
};

/** Takes each unit from the expert with a share larger by more than `tau`; else blends (arXiv 2601.22620). */
export const chooseByThreshold = (all: readonly Unit[], tau: number): ChosenUnit[] =>
  all.map((unit) => {
    const difference = unit.task - unit.language;
    return { ...unit, from: difference > tau ? 'task' : difference < -tau ? 'language' : 'blend' };
  });

/** Takes the `count` units with the largest statistic from the language expert; among ties, lower layers. */
export const chooseTop = (all: readonly Unit[], count: number, statistic: Statistic): ChosenUnit[] => {
  const statisticOf = ({ task, language }: Unit) => (statistic === 'change' ? language : language - task);
  const top = new Set([...all].sort((a, b) => statisticOf(b) - statisticOf(a)).slice(0, count));
  return all.map((unit) => ({ ...unit, from: top.has(unit) ? 'language' : 'task' }));
};
