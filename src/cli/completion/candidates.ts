import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import type { ArgumentDescription, CommandDescription, OptionDescription } from '../framework/describe.js';
import { pathKinds } from '../framework/option.js';

/** Candidates for an argument: words, names of files or directories, or nothing. */
export type Candidates =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'files' | 'directories' | 'nothing' };

export const candidatesOf = ({ name, choices }: ArgumentDescription): Candidates =>
  choices.length > 0 ? { kind: 'words', words: choices } : { kind: pathKinds[name] ?? 'nothing' };

export const optionsOf = ({ optionGroups }: CommandDescription): readonly OptionDescription[] =>
  optionGroups.flatMap(({ options }) => options);

export const flagsOf = ({ short, long }: OptionDescription): string[] => [
  ...(short === undefined ? [] : [short]),
  long,
];

export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export const shells = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof shells)[number];

/** @throws INVALID_PARAMETER */
export const checkShell = (name: string): Shell => {
  const shell = shells.find((each) => each === name);
  if (shell !== undefined) return shell;
  throw invalidParameter('shell', name, shells.join(', '));
};
