import { LayerloomError } from '../../../base/errors/errors.js';
import { type Effort, StepLimitError, spend, usualEffort, wholeMatcher } from './pattern-automaton.js';
import {
  isPrintable,
  type Pattern,
  PatternRefused,
  parsePythonPattern,
  printable,
} from './python-pattern.js';

/** Entries of `rank_pattern` or `alpha_pattern`, in file order. */
export type NumbersByPattern = readonly (readonly [key: string, value: number])[];

/** Returns a module's number. @param module without PEFT's prefix: `model.layers.0.self_attn.q_proj` */
export type NumberOf = (module: string) => number;

/**
 * Returns the lookup that PEFT's `get_pattern_key` does. The first key for which Python's
 * `re.match(rf"(.*\.)?({key})$", module)` succeeds wins, then a key equal to the module's name, then
 * `fallback`. Keys are parsed as Python patterns, because Python reads `\Z`, `{,2}` and `[]x]` differently
 * from JavaScript.
 *
 * @param option `rank_pattern` or `alpha_pattern`, and `file`, for errors
 * @throws ADAPTER_UNSUPPORTED for an unsupported key; the returned function throws it if matching takes too
 *   long
 */
export const numbersByModule = (
  numbers: NumbersByPattern,
  fallback: number,
  { option, file }: { readonly option: string; readonly file: string },
): NumberOf => {
  if (numbers.length === 0) return () => fallback;
  const keyOf = keyFinder(
    numbers.map(([key]) => key),
    option,
    file,
  );
  const values = new Map(numbers);
  return (module) => values.get(keyOf(module)) ?? fallback;
};

/** Returns a function that finds the first key matching a module, or returns the module's name. */
const keyFinder = (keys: readonly string[], option: string, file: string): ((module: string) => string) => {
  const unsupported = (what: string, reason: string, cause?: unknown): LayerloomError =>
    new LayerloomError('ADAPTER_UNSUPPORTED', { file, what, reason }, { cause });
  const explained = (error: unknown, key = ''): unknown => {
    if (error instanceof StepLimitError)
      return unsupported(option, 'has patterns that take too long to match', error);
    if (!(error instanceof PatternRefused)) return error;
    return unsupported(`key ${JSON.stringify(key.slice(0, 200))} of ${option}`, error.message, error);
  };
  const effort = usualEffort();
  const names = new PlainNames(effort);
  const patterns: { readonly place: number; readonly matches: (module: string) => boolean }[] = [];
  for (const [place, key] of keys.entries())
    try {
      const pattern = parsePythonPattern(key);
      if (!names.add(pattern, place))
        patterns.push({ place, matches: wholeMatcher(behindDot(pattern), effort) });
    } catch (error) {
      throw explained(error, key);
    }
  return (module) => {
    if (!isPrintable(module))
      throw unsupported(option, `is not matched with the name of a module that is not in ASCII (${module})`);
    try {
      const named = names.firstOf(module);
      const matching = patterns.find(({ place, matches }) => place > named || matches(module));
      return keys[Math.min(named, matching?.place ?? named)] ?? module;
    } catch (error) {
      throw explained(error);
    }
  };
};

const behindDot = (pattern: Pattern): Pattern => {
  const anything: Pattern = {
    kind: 'repeat',
    item: { kind: 'character', oneOf: printable },
    least: 0,
    most: Number.POSITIVE_INFINITY,
  };
  const path: Pattern = { kind: 'sequence', items: [anything, { kind: 'character', oneOf: '.' }] };
  return { kind: 'sequence', items: [{ kind: 'repeat', item: path, least: 0, most: 1 }, pattern] };
};

/** Keys of one length that have wildcards at the same positions. */
interface NamesOfShape {
  readonly length: number;
  readonly any: readonly number[];
  readonly keys: Map<string, number>;
}

/** Finds keys that are plain names, with dots as wildcards, by hash: mixtures may have a key per module. */
class PlainNames {
  readonly #shapes = new Map<string, NamesOfShape>();
  readonly #effort: Effort;

  constructor(effort: Effort) {
    this.#effort = effort;
  }

  /** Adds a key, or returns false if it is not a plain name. */
  add(pattern: Pattern, place: number): boolean {
    if (pattern.kind !== 'sequence') return false;
    const characters = pattern.items.map((item) => (item.kind === 'character' ? item.oneOf : ''));
    if (!characters.every((oneOf) => oneOf.length === 1 || oneOf === printable)) return false;
    const text = characters.map((oneOf) => (oneOf === printable ? '.' : oneOf)).join('');
    const any = characters.flatMap((oneOf, index) => (oneOf === printable ? [index] : []));
    const shape = [text.length, ...any].join();
    const names = this.#shapes.get(shape) ?? { length: text.length, any, keys: new Map<string, number>() };
    this.#shapes.set(shape, names);
    if (!names.keys.has(text)) names.keys.set(text, place);
    return true;
  }

  /**
   * Returns the index of the first key that equals a module's name or a dotted suffix of it, else Infinity.
   */
  firstOf(module: string): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { length, any, keys } of this.#shapes.values()) {
      spend(this.#effort, 1);
      const begin = module.length - length;
      if (begin < 0 || (begin > 0 && module[begin - 1] !== '.')) continue;
      spend(this.#effort, length);
      const end = module.slice(begin);
      const text = any.every((at) => end[at] === '.') ? end : withDots(end, any);
      first = Math.min(first, keys.get(text) ?? first);
    }
    return first;
  }
}

const withDots = (text: string, places: readonly number[]): string => {
  const characters = text.split('');
  for (const place of places) characters[place] = '.';
  return characters.join('');
};
