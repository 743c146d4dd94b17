// @ts-check
/**
 * Writes the functions of the Python package, one for each command below, from the definitions of the command line:
 * `python/layerloom/_calls.py`, and `aio.py` with the same as coroutines. `npm run docs:tables` rewrites them;
 * test/docs/python-calls.test.ts says where one differs.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { pythonName } from '../dist/base/option-name.js';
import { outputOptions } from '../dist/cli/options/output.js';
import { toNumber, toWeights } from '../dist/cli/options/parse.js';
import { buildProgram } from '../dist/cli/program.js';

/** Commands that are functions, by the function's name. */
const commands = {
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

/** A text of help in a docstring. @param {string} text */
const plain = (text) => text.replaceAll('\\', '\\\\').replaceAll('"""', "'''");

/** @param {string} name @param {string} path @param {boolean} isAsync */
const functionOf = (name, path, isAsync) => {
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
        ...{ long, name: pythonName(long), type: typeOf(option), mandatory },
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
  const optional = (/** @type {string} */ type) =>
    type === 'bool' ? 'bool = False' : `${type} | None = None`;
  const parameters = [
    ...declared.map(({ name, type, required, variadic }) =>
      required ? `${name}: ${type}` : variadic ? `${name}: ${type} = ()` : `${name}: ${optional(type)}`,
    ),
    '*',
    ...options.filter(({ mandatory }) => mandatory).map(({ name, type }) => `${name}: ${type}`),
    ...options.filter(({ mandatory }) => !mandatory).map(({ name, type }) => `${name}: ${optional(type)}`),
    'progress: Progress = None',
  ];
  return `
${isAsync ? 'async ' : ''}def ${name}(
${parameters.map((parameter) => `    ${parameter},\n`).join('')}) -> dict[str, Any]:
    """Runs \`layerloom ${path}\`: ${plain(command.description())}.

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

const head = `# Written by scripts/python-calls.mjs from the definitions of the command line: \`npm run docs:tables\`.
`;

/** @param {string} words @param {boolean} isAsync */
const moduleOf = (words, isAsync) => `${head}"""${words}"""

from collections.abc import Sequence
from typing import Any, Literal

from ._call import Numbers, Progress, StrPath, ${isAsync ? '' : 'call, '}each, option, words_of
${isAsync ? 'from ._call_async import call_async\n' : ''}
__all__ = [
${Object.keys(commands)
  .map((name) => `    "${name}",\n`)
  .join('')}]

${Object.entries(commands)
  .map(([name, path]) => functionOf(name, path, isAsync))
  .join('\n')}`;

/** Texts of the modules by their files. */
export const modules = new Map(
  /** @type {const} */ ([
    ['_calls.py', moduleOf('Commands as functions.', false)],
    ['aio.py', moduleOf('Commands as coroutines: a task that is cancelled stops its command.', true)],
  ]),
);

/** @param {string} name */
export const fileOf = (name) => fileURLToPath(new URL(`../python/layerloom/${name}`, import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [name, text] of modules) writeFileSync(fileOf(name), text);
