// @ts-check
/**
 * Writes the functions of the Python package, one for each command below, from the definitions of the command line:
 * `python/layerloom/_calls.py`, and `aio.py` with the same as coroutines; beside each a stub (`.pyi`) with the types of
 * results, which are in `results.py`. `npm run docs:tables` rewrites them; test/docs/python-calls.test.ts says where one
 * differs.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { pythonName } from '../dist/base/option-name.js';
import { outputOptions } from '../dist/cli/options/output.js';
import { toNumber, toWeights } from '../dist/cli/options/parse.js';
import { buildProgram } from '../dist/cli/program.js';
import { results, resultsModule } from './python-results.mjs';

/** Commands that are functions, by the function's name. */
export const commands = {
  swap: 'swap',
  soup: 'soup',
  merge: 'merge',
  revert: 'revert',
  relayout: 'relayout',
  extract_lora: 'extract-lora',
  analyze: 'analyze',
  diff: 'diff',
  inspect: 'inspect',
  partition: 'partition',
  run_experiment: 'batch',
  evaluate: 'evaluate',
  search: 'search',
};

/** Options of the command line's output alone. */
const left = Object.values(outputOptions).map(({ flags }) => /--\w+/.exec(flags)?.[0]);

/** @param {import('../dist/cli/framework/option.js').DeclaredOption} option */
const typeOf = (option) => {
  const { choices, parse, repeatable } = option.facts;
  if (!option.flags.includes('<')) return 'bool';
  if (parse === toWeights) return 'Numbers';
  const one = choices
    ? `Literal[${choices.map((choice) => JSON.stringify(choice)).join(', ')}]`
    : parse === toNumber
      ? 'float'
      : 'StrPath';
  return repeatable || option.variadic ? `${one} | Sequence[${one}]` : one;
};

/** A text of help in a docstring, where options are parameters. @param {string} text */
const plain = (text) =>
  text
    .replace(/(?<![\w-])--[a-z][a-z-]*[a-z]/g, pythonName)
    .replaceAll('\\', '\\\\')
    .replaceAll('"""', "'''");

/** The arguments and options of a command, as parameters of Python. @param {string} path */
const parametersOf = (path) => {
  const command = buildProgram().commands.find((one) => one.name() === path);
  if (command === undefined) throw new Error(`there is no command ${path}`);
  const options = command.options.flatMap((one) => {
    const option = /** @type {import('../dist/cli/framework/option.js').DeclaredOption} */ (one);
    const { long = '', hidden, description, facts, mandatory } = option;
    if (hidden || left.includes(long)) return [];
    const required = mandatory ? undefined : facts.required;
    const notes = [required && `required ${required}`, facts.default && `default: ${facts.default}`];
    return [
      {
        ...{ long, name: pythonName(long), type: typeOf(option), required: mandatory },
        ...{ several: facts.repeatable === true || option.variadic },
        words: [description, ...notes].filter(Boolean).join('; '),
      },
    ];
  });
  const declared = command.registeredArguments.map((argument) => ({
    name: pythonName(argument.name() + (argument.variadic ? 's' : '')),
    type: argument.variadic ? 'StrPath | Sequence[StrPath]' : 'StrPath',
    required: argument.required,
    variadic: argument.variadic,
    words: argument.description,
  }));
  return { description: command.description(), declared, options };
};

/** @typedef {{ name: string, type: string, required: boolean, variadic?: boolean }} Parameter */

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

/** @param {string} name @param {readonly string[]} parameters @param {boolean} isAsync */
const signature = (name, parameters, isAsync) => `${isAsync ? 'async ' : ''}def ${name}(
${parameters.map((parameter) => `    ${parameter},\n`).join('')})`;

/** @param {string} name @param {string} path @param {boolean} isAsync */
const functionOf = (name, path, isAsync) => {
  const { description, declared, options } = parametersOf(path);
  return `
@checked
${signature(name, parameterTexts(declared, options), isAsync)} -> dict[str, Any]:
    """Runs \`layerloom ${path}\`: ${plain(description)}.

    Args:
${[...declared, ...options].map(({ name, words }) => `        ${name}: ${plain(words)}\n`).join('')}        progress: a function, or True for a bar of tqdm
    """
    words = words_of(
        ["${path}"],
        [
${options.map(({ long, name, several }) => `            ${several ? 'each' : 'option'}("${long}", ${name}),\n`).join('')}        ],
        [${declared.map(({ name }) => name).join(', ')}],
    )
    return ${isAsync ? 'await call_async' : 'call'}(words, progress)
`;
};

/**
 * The signatures of a function: one for each option with which it returns something else, one without, and one for a flag
 * `dry_run` whose value is not known.
 *
 * @param {string} name @param {string} path @param {boolean} isAsync
 */
const stubOf = (name, path, isAsync) => {
  const { declared, options } = parametersOf(path);
  const forms = [...(results.get(path) ?? [])];
  const plain = forms.at(-1);
  if (plain?.[0] !== 'plain') throw new Error(`src/cli/printed.ts does not say what ${path} prints`);
  const longs = forms.map(([form]) => `--${form}`);
  /** The options with one that is given, of a type, and with others that are not. */
  const given = (
    /** @type {number} */ at,
    /** @type {readonly string[]} */ absent,
    /** @type {string} */ flag,
  ) =>
    options.map((option) => {
      const isFlag = option.type === 'bool';
      if (option.long === longs[at]) return { ...option, type: isFlag ? flag : option.type, required: true };
      return absent.includes(option.long) ? { ...option, type: isFlag ? 'Literal[False]' : 'None' } : option;
    });
  const signatures = forms.map(([, type], at) => ({
    options: given(at, longs.slice(0, at), 'Literal[True]'),
    type,
  }));
  const dry = longs.indexOf('--dry-run');
  if (dry >= 0)
    signatures.push({ options: given(dry, longs, 'bool'), type: `${forms[dry]?.[1]} | ${plain[1]}` });
  const overload = signatures.length > 1 ? '@overload\n' : '';
  return signatures
    .map(
      (of) =>
        `\n${overload}${signature(name, parameterTexts(declared, of.options), isAsync)} -> ${of.type}: ...\n`,
    )
    .join('');
};

const head = `# Written by scripts/python-calls.mjs from the definitions of the command line: \`npm run docs:tables\`.
`;

const allOf = `__all__ = [
${Object.keys(commands)
  .map((name) => `    "${name}",\n`)
  .join('')}]`;

/** @param {string} words @param {boolean} isAsync */
const moduleOf = (words, isAsync) => `${head}"""${words}"""

from collections.abc import Sequence
from typing import Any, Literal

from ._call import Numbers, Progress, StrPath, ${isAsync ? '' : 'call, '}each, option, words_of
${isAsync ? 'from ._call_async import call_async\n' : ''}from ._check import checked

${allOf}

${Object.entries(commands)
  .map(([name, path]) => functionOf(name, path, isAsync))
  .join('\n')}`;

/** @param {boolean} isAsync */
const stubModuleOf = (isAsync) => {
  const text = Object.entries(commands)
    .map(([name, path]) => stubOf(name, path, isAsync))
    .join('');
  const used = [
    ...new Set(
      [...results.values()].flatMap((forms) => [...forms.values()]).flatMap((type) => type.split(' | ')),
    ),
  ];
  return `${head}
from collections.abc import Sequence
from typing import Literal, overload

from ._call import Numbers, Progress, StrPath
from .results import (
${used
  .toSorted()
  .map((name) => `    ${name},\n`)
  .join('')})

${allOf}
${text}`;
};

/** Texts of the modules by their files. */
export const modules = new Map(
  /** @type {const} */ ([
    ['_calls.py', moduleOf('Commands as functions.', false)],
    ['_calls.pyi', stubModuleOf(false)],
    ['aio.py', moduleOf('Commands as coroutines: a task that is cancelled stops its command.', true)],
    ['aio.pyi', stubModuleOf(true)],
    ['results.py', resultsModule],
  ]),
);

/** @param {string} name */
export const fileOf = (name) => fileURLToPath(new URL(`../python/layerloom/${name}`, import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [name, text] of modules) writeFileSync(fileOf(name), text);
