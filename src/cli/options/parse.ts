import { LayerloomError } from '../../core/base/errors/errors.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { nearest } from '../../core/base/nearest.js';

/** Parses a number. Returns any other text unchanged: the called function refuses it by parameter. */
export const toNumber = (text: string): number => {
  const value = Number(text);
  return text.trim() === '' || Number.isNaN(value) ? (text as unknown as number) : value;
};

/** Adds `NAME=VALUE` to `previous`. The called function refuses a value that is no number. */
export const toNamed = (
  text: string,
  previous: Readonly<Record<string, number>> = {},
): Record<string, number> => {
  const at = text.lastIndexOf('=');
  return { ...previous, [at < 0 ? text : text.slice(0, at)]: toNumber(at < 0 ? '' : text.slice(at + 1)) };
};

/** Adds `KEY=V,V` to `previous`. Values that are not numbers stay texts. */
export const toValues = (
  text: string,
  previous: Readonly<Record<string, readonly (number | string)[]>> = {},
): Record<string, readonly (number | string)[]> => {
  const at = text.indexOf('=');
  if (at <= 0) throw new LayerloomError('USAGE', { reason: `${text}: expected KEY=VALUE,VALUE` });
  const key = text.slice(0, at);
  if (Object.hasOwn(previous, key))
    throw new LayerloomError('USAGE', {
      reason: `${key} is set twice; give its values at once, with commas`,
    });
  return { ...previous, [key]: toNumbers(text.slice(at + 1)) };
};

/** Parses `KEY=VALUE,KEY=VALUE` like model arguments of lm_eval: numbers, true and false, otherwise text. */
export const toArguments = (text: string): Record<string, number | string | boolean> =>
  Object.fromEntries(
    text.split(',').map((part) => {
      const at = part.indexOf('=');
      if (at <= 0) throw new LayerloomError('USAGE', { reason: `${part}: expected KEY=VALUE` });
      const value = part.slice(at + 1);
      return [part.slice(0, at), /^(true|false)$/i.test(value) ? /^true$/i.test(value) : toNumber(value)];
    }),
  );

/** Splits words at commas, keeping each once. */
export const toWords = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== ''),
  ),
];

const toNumbers = (text: string): number[] => text.split(',').map(toNumber);

export const toWeights = (text: string): number[] | 'magnitude' =>
  text === 'magnitude' ? text : toNumbers(text);

/** Returns a parser that refuses other values before work begins. */
export const toOneOf =
  <const Choice extends string>(parameter: string, choices: readonly Choice[]) =>
  (text: string): Choice => {
    const found = choices.find((choice) => choice === text);
    if (found !== undefined) return found;
    const meant = choices.find((choice) => text.startsWith(choice)) ?? nearest(text, choices);
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter,
      value: text,
      expected: choices.join(', '),
      nearest: meant,
    });
  };

/** Parses a part `i/n`: `2/8` is the third of eight. @throws INVALID_PARAMETER */
export const toPart = (parameter: string, text: string): { index: number; count: number } => {
  const groups = /^(?<index>\d+)\/(?<count>\d+)$/.exec(text)?.groups;
  const [index, count] = [Number(groups?.['index']), Number(groups?.['count'])];
  if (!(count >= 1 && index < count)) throw invalidParameter(parameter, text, 'i/n with i from 0 to n − 1');
  return { index, count };
};

/** Refuses sizes of a few bytes, whose unit was forgotten. @throws INVALID_PARAMETER */
export const toShardSize = (text: string): string => {
  if (/^\d{1,3}$/.test(text.trim()))
    throw invalidParameter('maxShardSize', text, 'a size with its unit, such as 5GB or 500MB');
  return text;
};
