// @ts-check
/**
 * Writes the functions of the Python package, one for each command below, from the definitions of the command line:
 * `python/layerloom/_calls.py`, and `aio.py` with the same as coroutines; beside each a stub (`.pyi`) with the types of
 * results, which are in `results.py`. Those that write one checkpoint return it in memory where no `out` is given.
 * `npm run docs:tables` rewrites the files; test/docs/python-calls.test.ts says where one differs.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { pythonName } from '../dist/core/base/option-name.js';
import { parametersOf, signature, writers } from './python-parameters.mjs';
import { results, resultsModule } from './python-results.mjs';

/** Commands that are functions, by the function's name. */
export const commands = {
  swap: 'swap',
  soup: 'soup',
  merge: 'merge',
  revert: 'revert',
  apply: 'apply',
  relayout: 'relayout',
  transplant: 'transplant',
  extract_lora: 'extract-lora',
  analyze: 'analyze',
  diff: 'diff',
  verify: 'verify',
  inspect: 'inspect',
  partition: 'partition',
  run_experiment: 'batch',
  evaluate: 'evaluate',
  search: 'search',
  table: 'table',
  report: 'report',
  export: 'export',
};

/** Options with which a command that writes a checkpoint writes none, or needs an output that has a name. */
const notInMemory = ['--explain', '--dry-run', '--link', '--force', '--resume'];

/** A text of help in a docstring, where options are parameters. @param {string} text */
const plain = (text) =>
  text
    .replace(/(?<![\w-])--[a-z][a-z-]*[a-z]/g, pythonName)
    .replaceAll('\\', '\\\\')
    .replaceAll('"""', "'''");

/** @param {string} name @param {string} path @param {boolean} isAsync */
const functionOf = (name, path, isAsync) => {
  const { description, declared, options } = parametersOf(path);
  const isWriter = writers.includes(path);
  const [waits, suffix] = isAsync ? ['await ', '_async'] : ['', ''];
  const named = options
    .filter(({ long }) => notInMemory.includes(long))
    .map(({ name, type }) => (type === 'bool' ? name : `${name} is not None`));
  const inMemory = `    if not (${['out is not None', ...named].join(' or ')}):
        return ${waits}call_in_memory${suffix}(words, progress)
`;
  return `
@checked
${signature(name, declared, options, isAsync)} -> dict[str, Any]${isWriter ? ' | Merged' : ''}:
    """Runs \`layerloom ${path}\`: ${plain(description)}.

    Args:
${[...declared, ...options].map(({ name, words }) => `        ${name}: ${plain(words)}\n`).join('')}        progress: a function, or True for a bar of tqdm
${isWriter ? returns : ''}    """
    words = words_of(
        ["${path}"],
        [
${options.map(({ long, value, several }) => `            ${several ? 'each' : 'option'}("${long}", ${value}),\n`).join('')}        ],
        [${declared.map(({ value }) => value).join(', ')}],
    )
${isWriter ? inMemory : ''}    return ${waits}call${suffix}(words, progress)
`;
};

const returns = `
    Returns:
        What the command prints as JSON; without \`out\` the checkpoint, in memory
`;

/**
 * Types of a command's results by the option that it has them with, the first of these that is given; `plain`, without
 * one, comes last. With \`out\`, what a command prints is a form beside the checkpoint in memory.
 *
 * @param {string} path @returns {(readonly [string, string])[]}
 */
const formsOf = (path) => {
  const forms = [...(results.get(path) ?? [])];
  const printed = forms.pop();
  if (printed?.[0] !== 'plain') throw new Error(`src/cli/printed.ts does not say what ${path} prints`);
  return writers.includes(path) ? [...forms, ['out', printed[1]], ['plain', 'Merged']] : [...forms, printed];
};

/**
 * The signatures of a function: one for each option with which it returns something else, one without, and for each
 * of those behind a flag `dry_run` one more, for when the flag's value is not known.
 *
 * @param {string} name @param {string} path @param {boolean} isAsync
 */
const stubOf = (name, path, isAsync) => {
  const { declared, options } = parametersOf(path);
  const forms = formsOf(path);
  const longs = forms.map(([form]) => `--${form}`);
  const dry = longs.indexOf('--dry-run');
  /** The options with that of a form given, and those of the forms before it not. */
  const given = (/** @type {number} */ at, /** @type {boolean} */ dryIsKnown) =>
    options.map((option) => {
      const [index, isFlag] = [longs.indexOf(option.long), option.type === 'bool'];
      if (index === dry && !dryIsKnown) return { ...option, required: true };
      if (index === at) return { ...option, type: isFlag ? 'Literal[True]' : option.type, required: true };
      const isAbsent = 0 <= index && index < at;
      return isAbsent ? { ...option, type: isFlag ? 'Literal[False]' : 'None' } : option;
    });
  const known = forms.map(([, type], at) => ({ options: given(at, true), type }));
  const unknown = forms.flatMap(([, type], at) =>
    0 <= dry && dry < at ? [{ options: given(at, false), type: `${forms[dry]?.[1]} | ${type}` }] : [],
  );
  const overload = forms.length > 1 ? '@overload\n' : '';
  return [...known, ...unknown]
    .map(
      ({ options, type }) => `\n${overload}${signature(name, declared, options, isAsync)} -> ${type}: ...\n`,
    )
    .join('');
};

const head = `# Written by scripts/python-calls.mjs from the definitions of the command line: \`npm run docs:tables\`.
`;

const allOf = `__all__ = [
${Object.keys(commands)
  .map((name) => `    "${name}",\n`)
  .join('')}]`;

/** What a module has from _call.py. @param {boolean} isAsync */
const imported = (isAsync) => [
  ...['Experiment', 'Numbers', 'Progress', 'Recipe'],
  ...(isAsync ? [] : ['call', 'call_in_memory']),
  ...['each', 'each_model', 'experiment_of', 'one_model', 'option', 'recipe_of', 'words_of'],
];

/** @param {string} words @param {boolean} isAsync */
const moduleOf = (words, isAsync) => `${head}"""${words}"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ._call import (
${imported(isAsync)
  .map((name) => `    ${name},\n`)
  .join('')})
${isAsync ? 'from ._call_async import call_async, call_in_memory_async\n' : ''}from ._check import checked
from ._merged import Merged, StrPath
from ._model import ModelLike

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

from ._call import Experiment, Numbers, Progress, Recipe
from ._merged import Merged, StrPath
from ._model import ModelLike
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
