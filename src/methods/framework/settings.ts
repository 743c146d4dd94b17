import { LayerloomError } from '../../errors.js';
import type { RecipePath } from './method.js';

/** What a parameter may be. */
export type Scalar = number | boolean | string;

/**
 * A parameter as a recipe gives it: one value; a list, which is a gradient over the layers; or values by filters, the first of which
 * matches the tensor's name counts (a filter is a part of the name; none, or `*`, matches all).
 */
export type SettingInput = Scalar | readonly Scalar[] | FilteredValue | readonly FilteredValue[];

interface FilteredValue {
  readonly filter?: string | undefined;
  readonly value: Scalar | readonly Scalar[];
}

/** A parameter of a method: what it may be, and what it is where a recipe says nothing. */
export interface ParameterSpec {
  /** Ends the sentence "PARAMETER: expected …". */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
  /** None: the recipe must say. */
  readonly default?: Scalar;
}

export const numberParameter = (
  expected: string,
  accepts: (value: number) => boolean,
  preset?: number,
): ParameterSpec => ({
  expected,
  accepts: (value) => typeof value === 'number' && Number.isFinite(value) && accepts(value),
  ...(preset === undefined ? {} : { default: preset }),
});

export const anyNumber = (preset?: number): ParameterSpec =>
  numberParameter('a finite number', () => true, preset);

export const share = (preset?: number): ParameterSpec =>
  numberParameter('a share above 0, at most 1', (value) => value > 0 && value <= 1, preset);

export const flag = (preset: boolean): ParameterSpec => ({
  expected: 'true or false',
  accepts: (value) => typeof value === 'boolean',
  default: preset,
});

const isScalar = (value: unknown): value is Scalar => ['number', 'boolean', 'string'].includes(typeof value);

const isFiltered = (value: unknown): value is FilteredValue =>
  typeof value === 'object' && value !== null && 'value' in value;

/** A parameter's values over a model's tensors. */
export class Setting {
  readonly path: RecipePath;
  readonly input: SettingInput;
  readonly #cases: readonly { filter: string | undefined; values: readonly Scalar[]; path: RecipePath }[];
  readonly #matched = new Set<number>();

  /** @throws LayerloomError INVALID_PARAMETER */
  constructor(spec: ParameterSpec, input: unknown, path: RecipePath) {
    this.path = path;
    this.input = input as SettingInput;
    const list = Array.isArray(input) ? (input as unknown[]) : [input];
    const filtered = list.some(isFiltered);
    this.#cases = filtered
      ? list.map((entry, index) => {
          const at = Array.isArray(input) ? [...path, index] : path;
          const { filter, value } = checkFiltered(entry, at);
          const values = checkValues(spec, Array.isArray(value) ? value : [value], [...at, 'value']);
          return { filter: filter === '*' ? undefined : filter, values, path: at };
        })
      : [{ filter: undefined, values: checkValues(spec, list, path, Array.isArray(input)), path }];
  }

  /**
   * Its value for a tensor.
   *
   * @param t where the layer is in its slice, from 0 for the first (and for what is outside the layers) to 1 for the last
   * @returns undefined where no filter matches
   */
  at(tensor: string, t: number): Scalar | undefined {
    const index = this.#cases.findIndex(({ filter }) => filter === undefined || tensor.includes(filter));
    const found = this.#cases[index];
    if (found === undefined) return undefined;
    this.#matched.add(index);
    return interpolate(found.values, t);
  }

  /** Filters that no tensor has matched, or none first. A case that filters nothing need not come up. */
  unused(): { what: string; path: RecipePath }[] {
    return this.#cases.flatMap(({ filter, path }, index) =>
      filter === undefined || this.#matched.has(index) ? [] : [{ what: `filter ${filter}`, path }],
    );
  }
}

const checkFiltered = (entry: unknown, path: RecipePath): FilteredValue => {
  const known = ['filter', 'value'];
  const isSound =
    isFiltered(entry) &&
    Object.keys(entry).every((key) => known.includes(key)) &&
    (entry.filter === undefined || entry.filter === null || typeof entry.filter === 'string');
  if (!isSound) throw invalid(path, entry, 'a value, a list of values, or a list of {filter, value}');
  return { filter: entry.filter ?? undefined, value: entry.value };
};

const checkValues = (
  spec: ParameterSpec,
  values: readonly unknown[],
  path: RecipePath,
  isList = false,
): readonly Scalar[] => {
  if (values.length === 0) throw invalid(path, values, `${spec.expected}, or a list of such`);
  for (const [index, value] of values.entries())
    if (!isScalar(value) || !spec.accepts(value))
      throw invalid(isList ? [...path, index] : path, value, spec.expected);
  return values as readonly Scalar[];
};

/** Numbers lie on straight lines between the list's, which stand at equal distances; others are chosen. */
const interpolate = (values: readonly Scalar[], t: number): Scalar => {
  const scaled = t * (values.length - 1);
  const index = Math.floor(scaled);
  const [a, b] = [values[index] as Scalar, values[Math.min(values.length - 1, index + 1)] as Scalar];
  if (typeof a !== 'number' || typeof b !== 'number') return a;
  const fraction = scaled - index;
  return (1 - fraction) * a + fraction * b;
};

/** A recipe's value that cannot be, with the place where it stands. */
export const invalid = (path: RecipePath, value: unknown, expected: string): LayerloomError =>
  new LayerloomError('INVALID_PARAMETER', {
    parameter: path.join('.'),
    value: value ?? null,
    expected,
    path,
  });

/** What methods read parameters from: the most particular setting that says something counts. */
export const resolveSetting = (
  name: string,
  spec: ParameterSpec,
  settings: readonly (Setting | undefined)[],
  { tensor, t }: { tensor: string; t: number },
  needed: { by: string; path: RecipePath },
): Scalar => {
  for (const setting of settings) {
    const value = setting?.at(tensor, t);
    if (value !== undefined) return value;
  }
  if (spec.default !== undefined) return spec.default;
  throw new LayerloomError('INVALID_PARAMETER', {
    parameter: [...needed.path, name].join('.'),
    value: null,
    expected: `${spec.expected}, which ${needed.by} needs for ${tensor}`,
    path: needed.path,
  });
};
