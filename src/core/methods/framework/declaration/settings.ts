import { LayerloomError } from '../../../base/errors/errors.js';
import type { RecipePath } from './method.js';

/** A parameter's value for one tensor. */
export type Scalar = number | boolean | string;

/**
 * A parameter in a recipe: a value; a list, which is a gradient over the layers; or values with filters,
 * which apply by first match. A filter is part of a tensor's name; `*` or no filter matches all.
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

/** Valid values of a method's parameter, and its default. */
export interface ParameterSpec<Value extends Scalar = Scalar> {
  /** Completes "PARAMETER: expected …". */
  readonly expected: string;
  /** True if the value is allowed. */
  accepts(value: unknown): value is Value;
  /** The default; without one, recipes must give a value. */
  readonly default?: Value;
  /** JSON Schema for editors; may accept more than `accepts`. */
  readonly json?: Readonly<Record<string, unknown>>;
}

/** Specs by parameter. */
export type ParameterSpecs<Values> = {
  readonly [Name in keyof Values]: ParameterSpec<Values[Name] & Scalar>;
};

/**
 * Specifies a finite number.
 *
 * @param expected completes "PARAMETER: expected …"
 * @param preset default; without one, recipes must give a value
 * @param json bounds in JSON Schema
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

/** Specifies any finite number. */
export const anyNumber = (preset?: number): ParameterSpec<number> =>
  numberParameter('a finite number', () => true, preset);

/** Specifies a share: above 0, at most 1. */
export const share = (preset?: number): ParameterSpec<number> =>
  numberParameter('a share above 0, at most 1', (value) => value > 0 && value <= 1, preset, {
    exclusiveMinimum: 0,
    maximum: 1,
  });

/** Specifies true or false. */
export const flag = (preset: boolean): ParameterSpec<boolean> => ({
  expected: 'true or false',
  json: { type: 'boolean' },
  accepts: (value) => typeof value === 'boolean',
  default: preset,
});

/** Specifies a choice among a few values. */
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

/** A parameter's values for all tensors; remembers which filters have matched. */
export class Setting {
  readonly path: RecipePath;
  readonly input: SettingInput;
  readonly #cases: readonly { filter: string | undefined; values: readonly Scalar[]; path: RecipePath }[];
  readonly #matched = new Set<number>();

  /** @throws INVALID_PARAMETER */
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
   * @param t position of the tensor's layer in its slice, from 0 (first layer, and tensors outside the
   * layers) to 1 (last layer)
   * @returns undefined if no filter matches
   */
  at(tensor: string, t: number): Scalar | undefined {
    const index = this.#cases.findIndex(({ filter }) => filter === undefined || tensor.includes(filter));
    const found = this.#cases[index];
    if (found === undefined) return undefined;
    this.#matched.add(index);
    return interpolate(found.values, t);
  }

  filters() {
    const name = this.path.at(-1);
    return this.#cases
      .map(({ filter, path }, index) => ({ filter, path, name, matched: this.#matched.has(index) }))
      .filter(({ filter }) => filter !== undefined);
  }
}

export const unusedFilters = (settings: readonly Setting[]): { what: string; path: RecipePath }[] => {
  const filters = [...new Set(settings)].flatMap((setting) => setting.filters());
  const keyOf = ({ name, filter }: (typeof filters)[number]): string => JSON.stringify([name, filter]);
  const matched = new Set(filters.filter((one) => one.matched).map(keyOf));
  return filters
    .filter((one) => !matched.has(keyOf(one)))
    .map(({ filter, path }) => ({ what: `filter ${filter}`, path }));
};

const checkFiltered = (entry: unknown, path: RecipePath): FilteredValue => {
  const known = ['filter', 'value'];
  const isSound =
    isFiltered(entry) &&
    Object.keys(entry).every((key) => known.includes(key)) &&
    (entry.filter === undefined || entry.filter === null || typeof entry.filter === 'string');
  if (!isSound) throw invalidSetting(path, entry, 'a value, a list of values, or a list of {filter, value}');
  return { filter: entry.filter ?? undefined, value: entry.value };
};

const checkValues = (
  spec: ParameterSpec,
  values: readonly unknown[],
  path: RecipePath,
  isList = false,
): readonly Scalar[] => {
  if (values.length === 0) throw invalidSetting(path, values, `${spec.expected}, or a list of such`);
  for (const [index, value] of values.entries())
    if (!isScalar(value) || !spec.accepts(value))
      throw invalidSetting(isList ? [...path, index] : path, value, spec.expected);
  return values as readonly Scalar[];
};

/** Interpolates equidistant values at `t` (0 to 1); takes the earlier value unless both are numbers. */
const interpolate = (values: readonly Scalar[], t: number): Scalar => {
  const scaled = t * (values.length - 1);
  const index = Math.floor(scaled);
  const [a, b] = [values[index] as Scalar, values[Math.min(values.length - 1, index + 1)] as Scalar];
  if (typeof a !== 'number' || typeof b !== 'number') return a;
  const fraction = scaled - index;
  return (1 - fraction) * a + fraction * b;
};

export const invalidSetting = (path: RecipePath, value: unknown, expected: string): LayerloomError =>
  new LayerloomError(
    'INVALID_PARAMETER',
    { parameter: path.join('.'), value: value ?? null, expected },
    { context: { recipePath: path } },
  );

/**
 * Returns a tensor's value from the first setting that has one, else the default.
 *
 * @throws INVALID_PARAMETER without value and default
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
