const snakeCase = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

/** Whether a key is spelt as recipes spell keys: `bottom_transition`. */
export const isSnakeCase = (key: string): boolean => snakeCase.test(key);

/** `bottomTransition` or `bottom-transition` as recipes spell it; undefined for what is no name at all. */
export const toSnakeCase = (key: string): string | undefined => {
  const snake = key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/-/g, '_')
    .toLowerCase();
  return isSnakeCase(snake) ? snake : undefined;
};

/** `bottom_transition` as TypeScript spells it. No two keys in snake case become one. */
export const toCamelCase = (key: string): string =>
  key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
