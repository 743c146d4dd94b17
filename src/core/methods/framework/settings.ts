import { LayerloomError } from '../../base/errors.js';
import type { RecipePath } from './method.js';

/** A value of a parameter for one tensor. */
export type Scalar = number | boolean | string;

/**
 * A parameter as a recipe gives it: one value; a list, which is a gradient over the layers; or values by
 * filters, of which the first that matches the tensor's name counts (a filter is a part of the name; none, or
 * `*`, matches all).
 */
export type SettingInput<Value extends Scalar = Scalar> =
  | Value
  | readonly Value[]
  | FilteredValue<Value>
  | readonly FilteredValue<Value>[];

interface FilteredValue<Value extends Scalar = Scalar> {
  readonly filter?: string | undefined;
  readonly value: Value | readonly Value[];
}

/** A parameter of a method: its values, and the one that it has where a recipe gives none. */
export interface ParameterSpec<Value extends Scalar = Scalar> {
  /** Ends the sentence "PARAMETER: expected …". */
  readonly expected: string;
  /** True for a value that the parameter may have. */
  accepts(value: unknown): value is Value;
  /** None: the recipe must give it. */
  readonly default?: Value;
  /** JSON Schema of one value, for editors; it accepts what `accepts` does, and perhaps more. */
  readonly json?: Readonly<Record<string, unknown>>;
}

/** Specs by the parameters' names. */
export type ParameterSpecs<Values> = {
  readonly [Name in keyof Values]: ParameterSpec<Values[Name] & Scalar>;
};

/**
 * A parameter that is a finite number.
 *
 * @param expected ends the sentence "PARAMETER: expected …"
 * @param preset the default; without one a recipe must give the parameter
 * @param json bounds of the values, as JSON Schema has them
 */
export const numberParameter = (
  expected: string,
  accepts: (value: number) => boolean,
  preset?: number,
  json: Readonly<Record<string, unknown>> = {},
): ParameterSpec<number> => ({
  expected,
  json: { type: 'number', ...json },
  accepts: (value): value is number => typeof value === 'number' && Number.isFinite(value) && accepts(value),
  ...(preset === undefined ? {} : { default: preset }),
});

/** A parameter that is any finite number. */
export const anyNumber = (preset?: number): ParameterSpec<number> =>
  numberParameter('a finite number', () => true, preset);

/** A parameter that is a share: above 0, at most 1. */
export const share = (preset?: number): ParameterSpec<number> =>
  numberParameter('a share above 0, at most 1', (value) => value > 0 && value <= 1, preset, {
    exclusiveMinimum: 0,
    maximum: 1,
  });

/** A parameter that is true or false. */
export const flag = (preset: boolean): ParameterSpec<boolean> => ({
  expected: 'true or false',
  json: { type: 'boolean' },
  accepts: (value) => typeof value === 'boolean',
  default: preset,
});

/** A parameter that is one of a few values. */
export const oneOf = <const Value extends Scalar>(
  expected: string,
  values: readonly Value[],
  preset: NoInfer<Value>,
): ParameterSpec<Value> => ({
  expected,
  json: { enum: values },
  accepts: (value): value is Value => (values as readonly unknown[]).includes(value),
  default: preset,
});

const isScalar = (value: unknown): value is Scalar => ['number', 'boolean', 'string'].includes(typeof value);

const isFiltered = (value: unknown): value is FilteredValue =>
  typeof value === 'object' && value !== null && 'value' in value;

/** A parameter's values over a model's tensors. It remembers which of its filters have matched one. */
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
   * @param t where the layer is in its slice, from 0 for the first (and for what is outside the layers) to 1
   *   for the last
   * @returns undefined where no filter matches
   */
  at(tensor: string, t: number): Scalar | undefined {
    const index = this.#cases.findIndex(({ filter }) => filter === undefined || tensor.includes(filter));
    const found = this.#cases[index];
    if (found === undefined) return undefined;
    this.#matched.add(index);
    return interpolate(found.values, t);
  }

  /** Filters that no tensor has matched so far; cases without a filter are no filters. */
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
  new LayerloomError(
    'INVALID_PARAMETER',
    { parameter: path.join('.'), value: value ?? null, expected },
    { context: { recipePath: path } },
  );

/**
 * The value of a parameter for a tensor: that of the first setting that has one, else the default.
 *
 * @param settings the most particular one first
 * @throws LayerloomError INVALID_PARAMETER where there is neither
 */
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
  const expected = `${spec.expected}, which ${needed.by} needs for ${tensor}`;
  throw new LayerloomError(
    'INVALID_PARAMETER',
    { parameter: [...needed.path, name].join('.'), value: null, expected },
    { context: { recipePath: needed.path } },
  );
};
