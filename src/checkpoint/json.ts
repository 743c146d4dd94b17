import { visit } from 'jsonc-parser';
import { parse as parseYaml } from 'yaml';

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Parses the JSON that Python writes, which may hold `NaN` and `Infinity`; YAML reads them (as strings), and is a superset
 * of JSON otherwise. For looking at values, never for writing them back. Throws where the text is neither.
 */
export const parsePythonJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (/\b(NaN|Infinity)\b/.test(text)) return parseYaml(text);
    throw error;
  }
};

/** The path of the first key that stands twice in one object (`["a", "b"]`), which `JSON.parse` would let pass. */
export const findDuplicateKey = (text: string): readonly string[] | undefined => {
  let duplicate: readonly string[] | undefined;
  const open: Set<string>[] = [];
  visit(text, {
    onObjectBegin: () => {
      open.push(new Set());
    },
    onObjectEnd: () => {
      open.pop();
    },
    onObjectProperty: (key, _offset, _length, _line, _column, pathOf) => {
      const keys = open.at(-1);
      if (keys?.has(key)) duplicate ??= [...pathOf().map(String), key];
      keys?.add(key);
    },
  });
  return duplicate;
};
