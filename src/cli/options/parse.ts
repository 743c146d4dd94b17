import { LayerloomError } from '../../core/base/errors.js';
import { invalidParameter } from '../../core/base/invalid-parameter.js';

/**
 * Parses a number. Returns other text unchanged, for the called function to refuse with the parameter's name.
 */
export const toNumber = (text: string): number => {
  const value = Number(text);
  return text.trim() === '' || Number.isNaN(value) ? (text as unknown as number) : value;
};

/** Adds `NAME=VALUE` to those given before; a value that is no number stays a text, which the called function judges. */
export const toNamed = (
  text: string,
  previous: Readonly<Record<string, number>> = {},
): Record<string, number> => {
  const at = text.lastIndexOf('=');
  return { ...previous, [at < 0 ? text : text.slice(0, at)]: toNumber(at < 0 ? '' : text.slice(at + 1)) };
};

/** Adds the values of `KEY=V,V` to those given before; each that is no number stays a text. */
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

/** Parses `KEY=VALUE,KEY=VALUE`, as the harness takes arguments of models: numbers, true and false, else texts. */
export const toArguments = (text: string): Record<string, number | string | boolean> =>
  Object.fromEntries(
    text.split(',').map((part) => {
      const at = part.indexOf('=');
      if (at <= 0) throw new LayerloomError('USAGE', { reason: `${part}: expected KEY=VALUE` });
      const value = part.slice(at + 1);
      return [part.slice(0, at), /^(true|false)$/i.test(value) ? /^true$/i.test(value) : toNumber(value)];
    }),
  );

/** Parses numbers separated by commas, each as `toNumber`. */
const toNumbers = (text: string): number[] => text.split(',').map(toNumber);

export const toWeights = (text: string): number[] | 'magnitude' =>
  text === 'magnitude' ? text : toNumbers(text);

/** Parses one of the values that a parameter takes: where it is wrong, that is said before any work. */
export const toOneOf =
  <const Choice extends string>(parameter: string, choices: readonly Choice[]) =>
  (text: string): Choice => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw invalidParameter(parameter, text, choices.join(', '));
    return found;
  };

/** Parses a part of several: `2/8` is the third of eight. @throws LayerloomError INVALID_PARAMETER */
export const toPart = (parameter: string, text: string): { index: number; count: number } => {
  const groups = /^(?<index>\d+)\/(?<count>\d+)$/.exec(text)?.groups;
  const [index, count] = [Number(groups?.['index']), Number(groups?.['count'])];
  if (!(count >= 1 && index < count)) throw invalidParameter(parameter, text, 'i/n with i from 0 to n − 1');
  return { index, count };
};
