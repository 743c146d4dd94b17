import { isGiven, isObject } from '../../../models/checkpoint/files/json.js';

const snakeCase = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

export const isSnakeCase = (key: string): boolean => snakeCase.test(key);

/** Converts `bottomTransition` or `bottom-transition`; undefined if the text is not a name. */
export const toSnakeCase = (key: string): string | undefined => {
  const snake = key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/-/g, '_')
    .toLowerCase();
  return isSnakeCase(snake) ? snake : undefined;
};

/** Converts to camel case; different keys give different results. */
export const toCamelCase = (key: string): string =>
  key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Renames keys at any depth and drops keys without a value. */
export const renameKeys = (
  block: Readonly<Record<string, unknown>>,
  spell: (key: string) => string,
): Record<string, unknown> => {
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inner);
    return isObject(value) ? renameKeys(value, spell) : value;
  };
  return Object.fromEntries(
    Object.entries(block)
      .filter(([, value]) => isGiven(value))
      .map(([key, value]) => [spell(key), inner(value)]),
  );
};
