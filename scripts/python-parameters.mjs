// @ts-check
/** Parameters of Python's functions, from the command line's arguments and options. */

import { outputOptions } from '../dist/cli/options/output.js';
import { toNumber, toWeights } from '../dist/cli/options/parse.js';
import { pythonName } from '../dist/cli/options/spellings.js';
import { buildProgram } from '../dist/cli/program.js';

/** Commands that write a checkpoint; without `out`, their functions return it in memory. */
export const writers = ['swap', 'soup', 'merge', 'revert', 'apply', 'relayout', 'transplant', 'extract-lora'];

/** Words for a model in `<…>` on the command line. */
const modelWords = ['model', 'expert', 'checkpoint', 'a', 'b'];

/** Options for the command line's output only. */
const left = Object.values(outputOptions).map(({ flags }) => /--\w+/.exec(flags)?.[0]);

/**
 * @typedef {object} Parameter
 * @property {string} name
 * @property {string} type
 * @property {boolean} required
 * @property {boolean} [variadic]
 */

/** @typedef {import('../dist/cli/framework/option.js').DeclaredOption} DeclaredOption */

/** @param {DeclaredOption} option */
const isModel = ({ flags }) => modelWords.includes(/<(\w+)>/.exec(flags)?.[1] ?? '');

/** @param {DeclaredOption} option */
const typeOf = (option) => {
  const { choices, parse, repeatable } = option.facts;
  if (!option.flags.includes('<')) return 'bool';
  if (parse === toWeights) return 'Numbers';
  const one = isModel(option)
    ? 'ModelLike'
    : choices
      ? `Literal[${choices.map((choice) => JSON.stringify(choice)).join(', ')}]`
      : parse === toNumber
        ? 'float'
        : 'StrPath';
  return repeatable || option.variadic ? `${one} | Sequence[${one}]` : one;
};

/**
 * Returns the parameter of an argument, and the Python expression for its value.
 *
 * @param {import('commander').Argument} argument
 */
const argumentOf = (argument) => {
  const { required, variadic, description: words } = argument;
  const name = pythonName(argument.name() + (variadic ? 's' : ''));
  const common = { name, required, variadic, words };
  if (argument.name() === 'recipe') return { ...common, type: 'Recipe', value: `recipe_of(${name})` };
  if (argument.name() === 'experiment')
    return { ...common, type: 'Experiment', value: `experiment_of(${name})` };
  const is = modelWords.includes(argument.name()) ? 'ModelLike' : 'StrPath';
  const value = variadic ? `each_model(${name}, "${argument.name()}")` : `one_model(${name}, "${name}")`;
  return {
    ...common,
    type: variadic ? `${is} | Sequence[${is}]` : is,
    value: is === 'ModelLike' ? value : name,
  };
};

/** @param {DeclaredOption} option @param {boolean} isWriter */
const optionOf = (option, isWriter) => {
  const { long = '', description, facts, mandatory } = option;
  const name = pythonName(long);
  const isOut = isWriter && long === '--out';
  const several = facts.repeatable === true || option.variadic;
  const required = mandatory ? undefined : facts.required;
  const notes = [required && `required ${required}`, facts.default && `default: ${facts.default}`];
  return {
    ...{ long, name, type: typeOf(option), required: mandatory && !isOut },
    words: [description, ...(isOut ? ['default: the output is in memory'] : notes)]
      .filter(Boolean)
      .join('; '),
    several,
    value: isModel(option) ? `${several ? 'each' : 'one'}_model(${name}, "${long.slice(2)}")` : name,
  };
};

/** Returns the parameters of a command. @param {string} path */
export const parametersOf = (path) => {
  const command = buildProgram().commands.find((one) => one.name() === path);
  if (command === undefined) throw new Error(`there is no command ${path}`);
  const options = command.options
    .filter(({ hidden, long }) => !hidden && !left.includes(long))
    .map((option) => optionOf(/** @type {DeclaredOption} */ (option), writers.includes(path)));
  return {
    description: command.description(),
    declared: command.registeredArguments.map(argumentOf),
    options,
  };
};

/** @param {Parameter} parameter */
const parameterText = ({ name, type, required, variadic }) => {
  if (required) return `${name}: ${type}`;
  if (variadic) return `${name}: ${type} = ()`;
  if (type === 'None') return `${name}: None = None`;
  return /^(bool|Literal\[False\])$/.test(type)
    ? `${name}: ${type} = False`
    : `${name}: ${type} | None = None`;
};

/** @param {readonly Parameter[]} declared @param {readonly Parameter[]} options @returns {string[]} */
const parameterTexts = (declared, options) => [
  ...declared.map(parameterText),
  '*',
  ...options.filter(({ required }) => required).map(parameterText),
  ...options.filter(({ required }) => !required).map(parameterText),
  'progress: Progress = None',
];

/**
 * The first lines of a function, without its result type.
 *
 * @param {string} name
 * @param {readonly Parameter[]} declared
 * @param {readonly Parameter[]} options
 * @param {boolean} isAsync
 */
export const signature = (name, declared, options, isAsync) => `${isAsync ? 'async ' : ''}def ${name}(
${parameterTexts(declared, options)
  .map((parameter) => `    ${parameter},\n`)
  .join('')})`;
