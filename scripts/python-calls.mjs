// @ts-check
/**
 * Writes the generated files of the Python package: `_commands.json`, from which `_call.py` makes the
 * functions; their stubs `_calls.pyi` and `aio.pyi`; and the types of results. A part of `npm run build:ts`.
 *
 *   node scripts/python-calls.mjs
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pythonName, spellings } from '../dist/cli/options/spellings.js';
import { commands, parametersOf, writers } from './python-parameters.mjs';
import { results, resultsModule } from './python-results.mjs';

/** @typedef {import('./python-parameters.mjs').Parameter} Parameter */

/** Options with which a checkpoint command writes nothing, or needs a named output. */
const notInMemory = ['--out', '--explain', '--dry-run', '--link', '--force', '--resume'];

/** Names of commands in help, longest first: `layerloom analyze`. */
const named = Object.entries(commands).map(([name, path]) => ({ name, text: `layerloom ${path}` }));

/** Converts help for a docstring, where options are parameters, and commands functions. @param {string} text */
const plain = (text) =>
  named.reduce(
    (words, { name, text: command }) =>
      words.replaceAll(new RegExp(`\\b${command}\\b(?!-)`, 'g'), `layerloom.${name}`),
    text.replace(/(?<![\w-])--[a-z][a-z-]*[a-z]/g, pythonName),
  );

/**
 * Returns the types of a command's results by option. The first given option counts; `plain`, for no option,
 * is last. For checkpoint commands, `out` adds the printed form to the checkpoint in memory.
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

/** Describes the result, by the parameter that is given. @param {string} path */
const returnsOf = (path) =>
  formsOf(path)
    .map(([form, type]) =>
      form === 'plain'
        ? type === 'Merged'
          ? '    Merged, the checkpoint in memory, without `out`'
          : `    ${type}`
        : `    ${type}, with \`${pythonName(form)}\``,
    )
    .join('\n');

/** @param {string} path */
const commandOf = (path) => {
  const { description, documented } = parametersOf(path);
  const isWriter = writers.includes(path);
  const parameters = documented.map(({ parameter }) => parameter);
  const lines = [
    `${description.charAt(0).toUpperCase()}${plain(description.slice(1))}.`,
    '',
    `Runs \`layerloom ${path}\`, with its defaults.`,
    '',
    'Args:',
    ...documented.map(({ parameter, words }) => `    ${parameter.name}: ${plain(words)}`),
    '    progress: a function of one dictionary with `phase`, `done` and `total`; True: a bar of tqdm; default: none',
    '',
    'Returns:',
    returnsOf(path),
    '',
    'Raises:',
    '    TypeError: an argument has another name or type',
    '    LayerloomError: the call is refused or fails; `code` says why',
  ];
  const returns = [...(results.get(path) ?? [])].map(([form, type]) => [
    form === 'plain' ? '' : pythonName(form),
    type,
  ]);
  /** Parameters with which no checkpoint is returned in memory. */
  const unless = parameters.filter(({ long = '' }) => notInMemory.includes(long)).map(({ name }) => name);
  return { command: path, words: lines.join('\n'), parameters, returns, ...(isWriter ? { unless } : {}) };
};

/** @typedef {ReturnType<typeof commandOf>} Command */

/** Functions by name. @type {readonly (readonly [string, Command])[]} */
const functions = Object.entries(commands).map(([name, path]) => [name, commandOf(path)]);

/** @param {Parameter} parameter */
const isRequired = (parameter) => parameter.default === undefined;

/** @param {Parameter} parameter */
const parameterText = (parameter) => {
  const { name, type, default: value } = parameter;
  if (value === undefined) return `${name}: ${type}`;
  return `${name}: ${type} = ${value === null ? 'None' : value === false ? 'False' : '()'}`;
};

/**
 * Returns the first lines of a function, without its result type.
 *
 * @param {string} name
 * @param {readonly Parameter[]} parameters
 * @param {boolean} isAsync
 */
const signature = (name, parameters, isAsync) => {
  const options = parameters.filter(({ long }) => long !== undefined);
  const texts = [
    ...parameters.filter(({ long }) => long === undefined).map(parameterText),
    '*',
    ...options.filter(isRequired).map(parameterText),
    ...options.filter((option) => !isRequired(option)).map(parameterText),
    'progress: Progress = None',
  ];
  return `${isAsync ? 'async ' : ''}def ${name}(\n${texts.map((text) => `    ${text},\n`).join('')})`;
};

/** @param {string} words */
const docstring = (words) =>
  `    """${words
    .replaceAll('\\', '\\\\')
    .replaceAll('"""', "'''")
    .replace(/\n(?=.)/g, '\n    ')}\n    """\n`;

/**
 * Returns the signatures of a function: one for each option that changes the result, and one without. Each is
 * repeated for an unknown value of `dry_run`. The first has the docstring.
 *
 * @param {string} name
 * @param {Command} command
 * @param {boolean} isAsync
 */
const stubOf = (name, { command: path, words, parameters }, isAsync) => {
  const forms = formsOf(path);
  const longs = forms.map(([form]) => `--${form}`);
  const dry = longs.indexOf('--dry-run');
  /** Returns the parameters with one form's option given, and those of earlier forms absent. */
  const given = (/** @type {number} */ at, /** @type {boolean} */ dryIsKnown) =>
    parameters.map(({ default: value, ...required }) => {
      const [index, isFlag] = [longs.indexOf(required.long ?? ''), value === false];
      if (index === dry && dry >= 0 && !dryIsKnown) return required;
      if (index === at && index >= 0)
        return { ...required, type: isFlag ? 'Literal[True]' : required.type.replace(/ \| None$/, '') };
      const isAbsent = 0 <= index && index < at;
      const type = isAbsent ? (isFlag ? 'Literal[False]' : 'None') : required.type;
      return value === undefined ? { ...required, type } : { ...required, type, default: value };
    });
  const known = forms.map(([, type], at) => ({ options: given(at, true), type }));
  const unknown = forms.flatMap(([, type], at) =>
    0 <= dry && dry < at ? [{ options: given(at, false), type: `${forms[dry]?.[1]} | ${type}` }] : [],
  );
  const overload = forms.length > 1 ? '@overload\n' : '';
  return [...known, ...unknown]
    .map(({ options, type }, at) => {
      const body = at === 0 ? `\n${docstring(words)}` : ' ...\n';
      return `\n${overload}${signature(name, options, isAsync)} -> ${type}:${body}`;
    })
    .join('');
};

/** @param {boolean} isAsync */
const stubModuleOf = (isAsync) => {
  const text = functions.map(([name, command]) => stubOf(name, command, isAsync)).join('');
  const used = [
    ...new Set(
      [...results.values()].flatMap((forms) => [...forms.values()]).flatMap((type) => type.split(' | ')),
    ),
  ];
  return `# Written by scripts/python-calls.mjs from the definitions of the command line.

from collections.abc import Sequence
from typing import Literal, overload

from ._call import Experiment, Layers, Numbers, Progress, Recipe, Settings
from ._merged import Merged, StrPath
from ._model import ModelLike
from ._plain import Dtype
from .results import (
${used
  .toSorted()
  .map((name) => `    ${name},\n`)
  .join('')})

__all__ = [
${functions.map(([name]) => `    "${name}",\n`).join('')}]
${text}`;
};

const spellingsModule = `# Written by scripts/python-calls.mjs.
"""Other spellings of parameters, and those of the functions."""

shown_spellings = {
${Object.entries(spellings)
  .flatMap(([shown, { also = [] }]) =>
    also.map((other) => `    "${pythonName(other)}": "${pythonName(shown)}",\n`),
  )
  .join('')}}
`;

/** The table: a line for each function. */
const table = functions.map(([name, command]) => `"${name}": ${JSON.stringify(command)}`).join(',\n');

/** Texts by file. The table is last, so that a package with a table is complete. */
export const modules = new Map([
  ['results.py', resultsModule],
  ['_spellings.py', spellingsModule],
  ['_calls.pyi', stubModuleOf(false)],
  ['aio.pyi', stubModuleOf(true)],
  ['_commands.json', `{\n${table}\n}\n`],
]);

/** The folder of the package in this clone. */
export const packageFolder = fileURLToPath(new URL('../python/layerloom', import.meta.url));

/** @param {string} folder */
export const writePackage = (folder) => {
  for (const [name, text] of modules) writeFileSync(join(folder, name), text);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) writePackage(packageFolder);
