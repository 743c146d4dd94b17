// @ts-check
/**
 * Writes the functions of the Python package from the command line's definitions:
 * `python/layerloom/_calls.py`, and coroutines in `aio.py`; stubs (`.pyi`) have the types of `results.py`.
 * Functions that write a checkpoint return it in memory without `out`. Run by `npm run docs:tables`;
 * test/docs/python-calls.test.ts finds outdated files.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { pythonName, spellings } from '../dist/cli/options/spellings.js';
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

/** Options with which a checkpoint command writes nothing, or needs a named output. */
const notInMemory = ['--explain', '--dry-run', '--link', '--force', '--resume'];

/** Converts help for a docstring, where options are parameters. @param {string} text */
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
 * Types of a command's results by option; the first given option counts. `plain`, without one, is last. For
 * checkpoint commands, `out` adds the printed form to the checkpoint in memory.
 *
 * @param {string} path
 * @returns {(readonly [string, string])[]}
 */
const formsOf = (path) => {
  const forms = [...(results.get(path) ?? [])];
  const printed = forms.pop();
  if (printed?.[0] !== 'plain') throw new Error(`src/cli/printed.ts does not say what ${path} prints`);
  return writers.includes(path) ? [...forms, ['out', printed[1]], ['plain', 'Merged']] : [...forms, printed];
};

/**
 * The signatures of a function: one per option that changes the result, one without, and another of each
 * after a flag `dry_run`, for an unknown value of the flag.
 *
 * @param {string} name
 * @param {string} path
 * @param {boolean} isAsync
 */
const stubOf = (name, path, isAsync) => {
  const { declared, options } = parametersOf(path);
  const forms = formsOf(path);
  const longs = forms.map(([form]) => `--${form}`);
  const dry = longs.indexOf('--dry-run');
  /** The options with one form's given, and those of earlier forms absent. */
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

const written =
  '# Written by scripts/python-calls.mjs from the definitions of the command line: `npm run docs:tables`.';

const head = `${written}
`;

const allOf = `__all__ = [
${Object.keys(commands)
  .map((name) => `    "${name}",\n`)
  .join('')}]`;

/** Names imported from _call.py. @param {boolean} isAsync */
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

const spellingsModule = `${written}
"""Other spellings of parameters, and those of the functions."""

shown_spellings = {
${Object.entries(spellings)
  .flatMap(([shown, { also = [] }]) =>
    also.map((other) => `    "${pythonName(other)}": "${pythonName(shown)}",\n`),
  )
  .join('')}}
`;

/** Texts of the modules, by file. */
export const modules = new Map(
  /** @type {const} */ ([
    ['_calls.py', moduleOf('Commands as functions.', false)],
    ['_calls.pyi', stubModuleOf(false)],
    ['aio.py', moduleOf('Commands as coroutines: a task that is cancelled stops its command.', true)],
    ['aio.pyi', stubModuleOf(true)],
    ['_spellings.py', spellingsModule],
    ['results.py', resultsModule],
  ]),
);

/** @param {string} name */
export const fileOf = (name) => fileURLToPath(new URL(`../python/layerloom/${name}`, import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [name, text] of modules) writeFileSync(fileOf(name), text);
