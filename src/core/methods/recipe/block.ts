import * as z from 'zod';
import { LayerloomError } from '../../base/errors/errors.js';
import { wordsOf } from '../../base/errors/setting.js';
import { nearest } from '../../base/nearest.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { toCamelCase, toSnakeCase } from './document/case.js';
import { type RecipeFault, unknownKeyOf } from './document/invalid.js';

// Checks settings read as plain values, such as an experiment's blocks. Errors spell keys as in YAML.

export const spelt = (key: string): string => toSnakeCase(key) ?? key;

export const keysOf = ({ shape }: z.ZodObject): string[] => Object.keys(shape).map(spelt);

const valuesOf = (value: z.core.$ZodType): { expected: string; names: readonly string[] } => {
  const { type, minimum, enum: listed = [] } = z.toJSONSchema(value, { io: 'input', unrepresentable: 'any' });
  const { expected, names = listed.map(String) } = wordsOf(value) ?? {};
  if (expected !== undefined) return { expected, names };
  if (names.length > 0) return { expected: `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`, names };
  if (type === 'boolean') return { expected: 'true or false', names };
  if (type !== 'integer') return { expected: type === 'string' ? 'text' : 'another value', names };
  const isAny = minimum === undefined || minimum < 0;
  return { expected: isAny ? 'a whole number' : `a whole number, ${minimum} or more`, names };
};

type SettingFault = RecipeFault & { readonly key: string };

export const faultIn = (
  block: string | undefined,
  path: readonly (string | number)[],
  { key, reason, expected, nearest }: SettingFault,
): LayerloomError =>
  new LayerloomError(
    'RECIPE_INVALID',
    {
      key,
      reason,
      ...(block === undefined ? {} : { file: block }),
      ...(expected === undefined ? {} : { expected }),
      ...(nearest === undefined ? {} : { nearest }),
    },
    { context: { recipePath: [...(block === undefined ? [] : [block]), ...path] } },
  );

const check = <Block extends z.ZodObject>(schema: Block, values: Readonly<Record<string, unknown>>) => {
  const { data, error } = schema.safeParse(values);
  if (error === undefined) return { data };
  const path = (error.issues[0]?.path ?? []).map((step) => (typeof step === 'number' ? step : String(step)));
  const [key = ''] = path;
  const [type, value] = [schema.shape[key], values[key]];
  if (type === undefined) throw new RangeError(`${key} is a key of the block`);
  const { expected, names } = valuesOf(type);
  // Suggests nothing for a word that begins several names.
  const isOpen = names.filter((name) => name.startsWith(String(value))).length > 1;
  const meant = typeof value === 'string' && !isOpen ? nearest(value, names) : undefined;
  return {
    wrong: {
      path,
      value,
      expected,
      isMissing: !Object.hasOwn(values, key),
      ...(meant === undefined ? {} : { nearest: meant }),
    },
  };
};

/**
 * Checks settings with snake-case keys.
 *
 * @param block for errors; undefined for a whole file
 * @throws RECIPE_INVALID with the value's path
 */
export const parseSettings = <Block extends z.ZodObject>(
  schema: Block,
  block: string | undefined,
  given: unknown,
): z.output<Block> => {
  if (!isObject(given)) throw faultIn(block, [], { key: block ?? 'file', reason: 'not a mapping' });
  const keys = keysOf(schema);
  // Reports only the misspelt key, because the intended key would seem missing too.
  const unknown = Object.keys(given).find((key) => !keys.includes(key));
  if (unknown !== undefined) throw unknownKeyOf(block ?? 'file', unknown, keys);
  const values = Object.fromEntries(Object.entries(given).map(([key, value]) => [toCamelCase(key), value]));
  const { data, wrong } = check(schema, values);
  if (wrong === undefined) return data;
  const { isMissing, expected, nearest: meant } = wrong;
  const [key, ...inner] = wrong.path;
  const path = [spelt(String(key)), ...inner];
  throw faultIn(block, path, {
    key: path.join('.'),
    expected,
    nearest: meant,
    reason: isMissing ? 'is missing' : 'not what it takes',
  });
};

/**
 * Checks options with camel-case names.
 *
 * @param at the settings' path in a recipe
 * @throws INVALID_PARAMETER
 */
export const checkOptions = <Block extends z.ZodObject>(
  schema: Block,
  options: Readonly<Record<string, unknown>>,
  at?: readonly (string | number)[],
): z.output<Block> => {
  const { data, wrong } = check(schema, options);
  if (wrong === undefined) return data;
  const { path, isMissing: _isMissing, ...fault } = wrong;
  const whole = [...(at ?? []), ...path];
  throw new LayerloomError(
    'INVALID_PARAMETER',
    { parameter: whole.join('.'), ...fault },
    at === undefined ? {} : { context: { recipePath: whole } },
  );
};
