import { formatLayers } from '../../../methods/framework/layer-set.js';
import type { Evidence, Finding } from '../evidence.js';

/** A kind of fault. `find` gets the evidence and the unexplained tensors. */
export interface FaultKind {
  /** A stable code, in snake_case. */
  readonly kind: string;
  readonly find: (evidence: Evidence, names: readonly string[]) => Promise<Finding | undefined>;
}

export const fault = (kind: string, find: FaultKind['find']): FaultKind => ({ kind, find });

/** Returns a finding, with the number of tensors as last figure; undefined without tensors. */
export const finding = (
  tensors: readonly string[],
  sentence: string,
  figures: Finding['figures'] = {},
): Finding | undefined =>
  tensors.length === 0 ? undefined : { tensors, figures: { ...figures, tensors: tensors.length }, sentence };

export { counted } from '../../../base/format.js';

const mostNames = 3;

export const listed = (names: readonly string[]): string => {
  const shown = names.slice(0, mostNames).join(', ');
  return names.length <= mostNames ? shown : `${shown} and ${names.length - mostNames} more`;
};

export const layersIn = (layers: readonly (number | null)[]): string => {
  const numbers = [...new Set(layers)].filter((layer) => layer !== null).sort((a, b) => a - b);
  const texts = formatLayers(numbers).replaceAll('-', '–').split(',');
  if (numbers.length === 0) return 'no layers';
  const [last = '', ...before] = texts.reverse();
  const list = before.length === 0 ? last : `${before.reverse().join(', ')} and ${last}`;
  return `${numbers.length === 1 ? 'layer' : 'layers'} ${list}`;
};

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Rounds to four significant digits, for sentences. */
export const figure = (value: number): number => Number(value.toPrecision(4));

/** True if all values differ from their median by at most this share. */
export const isConstant = (values: readonly number[], share = 0.03): boolean => {
  const middle = median(values);
  return values.every((value) => Math.abs(value - middle) <= share * Math.max(Math.abs(middle), 0.05));
};
