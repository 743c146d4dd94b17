import { type OptionSpelling, spellBy } from '../../core/base/errors/option-name.js';

interface OtherSpellings {
  /** Accepted, not shown. */
  readonly also?: readonly string[];
  /** Refused with a hint. */
  readonly meant?: readonly string[];
}

/** By the spelling that help, completion, docs and Python show. */
export const spellings: Readonly<Record<string, OtherSpellings>> = {
  '--lang': { also: ['--language'] },
  '--lang-layers': { also: ['--language-layers'] },
  '--part': { also: ['--shard-range'] },
  '--quantise': { also: ['--quantize'], meant: ['--quantisation', '--quantization'] },
  '--quantise-report': { also: ['--quantize-report'] },
  // mergekit's name.
  '--max-shard-size': { also: ['--out-shard-size'], meant: ['--shard-size'] },
  '--out': { meant: ['--output', '--output-dir', '--output-path', '--destination'] },
  '--base': { meant: ['--base-model'] },
  '--dtype': { meant: ['--torch-dtype', '--precision'] },
  '--force': { meant: ['--overwrite'] },
  '--threads': { meant: ['--num-threads', '--workers'] },
  '--resume': { meant: ['--continue'] },
  '--allow-non-finite': { meant: ['--allow-nan'] },
  '--quiet': { meant: ['--silent'] },
  '--verbose': { meant: ['--debug'] },
};

const othersOf = (shown: string): OtherSpellings =>
  Object.hasOwn(spellings, shown) ? (spellings[shown] ?? {}) : {};

export const alsoAccepted = (shown: string): readonly string[] => othersOf(shown).also ?? [];

export const spellingsOf = (shown: string): readonly string[] => [
  shown,
  ...alsoAccepted(shown),
  ...(othersOf(shown).meant ?? []),
];

/** `--lang` for `--language`. */
export const shownSpelling = (long: string): string =>
  Object.keys(spellings).find((shown) => alsoAccepted(shown).includes(long)) ?? long;

/** The option of a parameter: `--dry-run` for `dryRun`, `--lang` for `language`. */
export const longOf = (parameter: string): string =>
  shownSpelling(`--${parameter.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);

/** Keywords of Python, which cannot name a parameter and get an underscore. */
const pythonWords = new Set(['as', 'from', 'import']);

/** The Python name of a long option: `dry_run` for `--dry-run`. */
export const pythonName = (long: string): string => {
  const name = long.replace(/^--/, '').replaceAll('-', '_');
  return pythonWords.has(name) ? `${name}_` : name;
};

export type Reader = 'shell' | 'python';

const spellingFor: Readonly<Record<Reader, OptionSpelling>> = {
  shell: (name, value) => `${longOf(name)}${value === undefined ? '' : ` ${value}`}`,
  python: (name, value) => {
    const spelt = pythonName(longOf(name));
    return value === undefined
      ? `\`${spelt}\``
      : `\`${spelt}=${/^\d+$/.test(value) ? value : `'${value}'`}\``;
  },
};

let reader: Reader | undefined;

export const isForShell = (): boolean => reader === 'shell';

/** @returns a function that restores the former spelling */
export const spellFor = (next: Reader): (() => void) => {
  const former = reader;
  const spellAsBefore = spellBy(spellingFor[next]);
  reader = next;
  return () => {
    reader = former;
    spellAsBefore();
  };
};
