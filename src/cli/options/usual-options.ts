import { option } from '../framework/option.js';
import { toNumber } from './parse.js';

export const numberOption = <const Flags extends string>(
  flags: Flags,
  words: string,
  preset?: string,
  group?: string,
) => {
  const [byDefault, inGroup] = [preset === undefined ? {} : { default: preset }, group && { group }];
  return option(flags, words, { parse: toNumber, ...byDefault, ...inGroup });
};

export const choiceOption = <const Flags extends string, const Choice extends string>(
  flags: Flags,
  words: string,
  choices: readonly Choice[],
  preset: string,
) => option(flags, words, { choices, default: preset });
