// @ts-check
/** The functions of the Python package and their parameters, from the command line's arguments and options. */

import { outputOptions } from '../dist/cli/options/output.js';
import { toNumber, toWeights } from '../dist/cli/options/parse.js';
import { pythonFunctions, pythonName } from '../dist/cli/options/spellings.js';
import { buildProgram } from '../dist/cli/program.js';

/** Commands that are functions, by the function's name. @type {Readonly<Record<string, string>>} */
export const commands = Object.fromEntries(
  Object.entries(pythonFunctions).map(([command, name]) => [name, command]),
);

/** Commands that write a checkpoint. Without `out`, their functions return it in memory. */
export const writers = ['swap', 'soup', 'merge', 'revert', 'apply', 'relayout', 'transplant', 'extract-lora'];

/** Words for a model in `<…>` on the command line. */
const modelWords = ['model', 'expert', 'checkpoint', 'a', 'b'];

/** Options for the command line's output only. */
const left = Object.values(outputOptions).map(({ flags }) => /--\w+/.exec(flags)?.[0]);

/**
 * A parameter as `python/layerloom/_call.py` reads it.
 *
 * @typedef {object} Parameter
 * @property {string} name
 * @property {string} type the annotation
 * @property {null | false | readonly never[]} [default] absent if the parameter is required
 * @property {string} [long] the option; absent for an argument
 * @property {boolean} [several] an option that is repeated, or an argument of several words
 * @property {string} [model] takes models: the name under which one in memory is written
 */

/** @typedef {import('../dist/cli/framework/option.js').DeclaredOption} DeclaredOption */

/** @param {DeclaredOption} option */
const isModel = ({ flags }) => modelWords.includes(/<(\w+)>/.exec(flags)?.[1] ?? '');

/** Types by the word for a value in `<…>`. @type {Readonly<Record<string, string>>} */
const typesByWord = {
  set: 'Layers',
  t: 'str | float',
  size: 'str | int',
  n: 'str | int',
  key: 'Settings',
  // Words for several values that commas separate.
  names: 'StrPath | Sequence[StrPath]',
};

/** Words for numbers that may have a fraction. */
const fractions = ['share', 'points', 'seconds', 's', 't'];

/** @param {DeclaredOption} option */
const typeOf = (option) => {
  const { choices, parse, repeatable } = option.facts;
  const word = /<(\w+)/.exec(option.flags)?.[1];
  if (word === undefined) return 'bool';
  if (parse === toWeights) return 'Numbers';
  const one = isModel(option)
    ? 'ModelLike'
    : choices
      ? `Literal[${choices.map((choice) => `'${choice}'`).join(', ')}]${option.long === '--dtype' ? ' | Dtype' : ''}`
      : parse === toNumber
        ? fractions.includes(word)
          ? 'float'
          : 'int'
        : (typesByWord[word] ?? 'StrPath');
  return (repeatable || option.variadic) && one !== 'Settings' ? `${one} | Sequence[${one}]` : one;
};

/** @param {string} type @param {boolean} isRequired */
const optional = (type, isRequired) =>
  isRequired
    ? { type }
    : type === 'bool'
      ? { type, default: /** @type {const} */ (false) }
      : { type: `${type} | None`, default: null };

/** @param {import('commander').Argument} argument */
const argumentOf = (argument) => {
  const { required, variadic, description: words } = argument;
  const [own, name] = [argument.name(), pythonName(argument.name() + (variadic ? 's' : ''))];
  const file = { recipe: 'Recipe', experiment: 'Experiment' }[own];
  const model = modelWords.includes(own) ? { model: variadic ? own : name } : {};
  const one = file ?? ('model' in model ? 'ModelLike' : 'StrPath');
  const declared = variadic
    ? { type: `${one} | Sequence[${one}]`, several: true, ...(required ? {} : { default: [] }) }
    : optional(one, required);
  /** @type {Parameter} */
  const parameter = { name, ...declared, ...model };
  return { parameter, words };
};

/** @param {DeclaredOption} option @param {boolean} isWriter */
const optionOf = (option, isWriter) => {
  const { long = '', description, facts, mandatory } = option;
  const isOut = isWriter && long === '--out';
  const required = mandatory ? undefined : facts.required;
  const notes = [required && `required ${required}`, facts.default && `default: ${facts.default}`];
  /** @type {Parameter} */
  const parameter = {
    name: pythonName(long),
    ...optional(typeOf(option), mandatory && !isOut),
    long,
    ...(facts.repeatable || option.variadic ? { several: true } : {}),
    ...(isModel(option) ? { model: long.slice(2) } : {}),
  };
  const words = [description, ...(isOut ? ['default: the output is in memory'] : notes)];
  return { parameter, words: words.filter(Boolean).join('; ') };
};

/** Returns the arguments and options of a command. @param {string} path */
export const parametersOf = (path) => {
  const command = buildProgram().commands.find((one) => one.name() === path);
  if (command === undefined) throw new Error(`there is no command ${path}`);
  const options = command.options
    .filter(({ hidden, long }) => !hidden && !left.includes(long))
    .map((option) => optionOf(/** @type {DeclaredOption} */ (option), writers.includes(path)));
  return {
    description: command.description(),
    documented: [...command.registeredArguments.map(argumentOf), ...options],
  };
};
