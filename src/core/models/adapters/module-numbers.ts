import { LayerloomError } from '../../base/errors.js';
import { type Effort, EffortSpent, spend, usualEffort, wholeMatcher } from './pattern-automaton.js';
import {
  isPrintable,
  type Pattern,
  PatternRefused,
  parsePythonPattern,
  printable,
} from './python-pattern.js';

/** The keys of `rank_pattern` or `alpha_pattern`, with their numbers, in the order of the file. */
export type NumbersByPattern = readonly (readonly [key: string, value: number])[];

/** Returns a module's number. @param module without PEFT's prefix: `model.layers.0.self_attn.q_proj` */
export type NumberOf = (module: string) => number;

/**
 * Returns the numbers that a pattern of PEFT's configuration gives to modules, as its `get_pattern_key` does: that of the
 * first key for which Python's `re.match(rf"(.*\.)?({key})$", module)` finds a match, or of the key that is the module's name;
 * else `fallback`. The keys follow Python's rules: `\Z`, `{,2}` and `[]x]` are also expressions of JavaScript, which
 * mean something else there.
 *
 * @param option `rank_pattern` or `alpha_pattern`, and `file`, for errors
 * @throws LayerloomError ADAPTER_UNSUPPORTED for a key that is not understood; so does the result, where patterns take too long
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

/** Returns a function that finds the first of some keys that matches a module's name; the name itself where none does. */
const keyFinder = (keys: readonly string[], option: string, file: string): ((module: string) => string) => {
  const unsupported = (what: string, reason: string, cause?: unknown): LayerloomError =>
    new LayerloomError('ADAPTER_UNSUPPORTED', { file, what, reason }, { cause });
  const explained = (error: unknown, key = ''): unknown => {
    if (error instanceof EffortSpent)
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

/** `(.*\.)?` and then the pattern. */
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

/** Names of one length, in which any character may stand at the same places. */
interface NamesOfShape {
  readonly length: number;
  /** These places. */
  readonly any: readonly number[];
  /** Places of the keys, by their text with a dot for any character. */
  readonly keys: Map<string, number>;
}

/**
 * Keys that are names, in which a dot that is not escaped stands for any character. They are found by their text, so that
 * configurations with a key for each module of a large mixture take no longer for that.
 */
class PlainNames {
  readonly #shapes = new Map<string, NamesOfShape>();
  readonly #effort: Effort;

  constructor(effort: Effort) {
    this.#effort = effort;
  }

  /** Adds a key; returns false, and does not, where it is more than a name. */
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

  /** Returns the place of the first key that a module's name is, or ends with behind a dot; Infinity where there is none. */
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
