import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import type { ArgumentDescription, CommandDescription, OptionDescription } from '../framework/describe.js';

/** Values that a shell offers for an argument: words, names of files or directories, or nothing. */
export type Candidates =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'files' | 'directories' | 'nothing' };

/** Placeholders of paths; a model may be a directory or a file. */
const paths: Readonly<Record<string, 'files' | 'directories'>> = {
  a: 'files',
  adapter: 'files',
  b: 'files',
  base: 'files',
  checkpoint: 'files',
  csv: 'files',
  'csv|dir': 'files',
  dir: 'directories',
  experiment: 'files',
  expert: 'files',
  file: 'files',
  'lang:name=dir': 'directories',
  model: 'files',
  'name=dir': 'directories',
  out: 'directories',
  path: 'files',
  recipe: 'files',
};

export const candidatesOf = ({ name, choices }: ArgumentDescription): Candidates =>
  choices.length > 0 ? { kind: 'words', words: choices } : { kind: paths[name] ?? 'nothing' };

export const optionsOf = ({ optionGroups }: CommandDescription): readonly OptionDescription[] =>
  optionGroups.flatMap(({ options }) => options);

export const flagsOf = ({ short, long }: OptionDescription): string[] => [
  ...(short === undefined ? [] : [short]),
  long,
];

export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export const shells = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof shells)[number];

/** @throws LayerloomError INVALID_PARAMETER */
export const checkShell = (name: string): Shell => {
  const shell = shells.find((each) => each === name);
  if (shell !== undefined) return shell;
  throw invalidParameter('shell', name, shells.join(', '));
};
