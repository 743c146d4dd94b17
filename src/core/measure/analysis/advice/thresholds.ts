import { LayerloomError } from '../../../base/errors/errors.js';
import { invalidParameter } from '../../../base/errors/invalid-parameter.js';
import { nearest } from '../../../base/nearest.js';
import { defaultThreshold, type MavVectors } from '../analysis.js';
import { autoThreshold } from './auto-threshold.js';

export interface Thresholds {
  readonly all: number | 'auto';
  readonly own: ReadonlyMap<string, number>;
}

export const isThreshold = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && Number.isFinite(value);

/** @throws INVALID_PARAMETER */
export const readThresholds = (
  all: number | 'auto' = defaultThreshold,
  own: Readonly<Record<string, number>> = {},
): Thresholds => {
  if (all !== 'auto' && !isThreshold(all))
    throw invalidParameter('threshold', all, 'a number, 0 or more, or auto');
  for (const [name, value] of Object.entries(own))
    if (!isThreshold(value)) throw invalidParameter('thresholds', value, `a number, 0 or more, for ${name}`);
  return { all, own: new Map(Object.entries(own)) };
};

/** @throws INVALID_PARAMETER for an unknown expert */
export const checkThresholdNames = ({ own }: Thresholds, experts: readonly string[]): void => {
  for (const name of own.keys())
    if (!experts.includes(name))
      throw new LayerloomError('INVALID_PARAMETER', {
        parameter: 'thresholds',
        value: name,
        expected: `the name of an expert: ${experts.join(', ')}`,
        nearest: nearest(name, experts),
      });
};

/** Returns each expert's threshold. `auto` finds a common one. */
export const thresholdsOf = ({ all, own }: Thresholds, experts: readonly MavVectors[]): number[] => {
  const common = all === 'auto' ? (autoThreshold(experts) ?? defaultThreshold) : all;
  return experts.map(({ name }) => own.get(name) ?? common);
};
