import { type OptionSpelling, spellBy } from '../../core/base/option-name.js';

/** Other spellings of an option. */
interface OtherSpellings {
  /** Accepted everywhere, but shown nowhere. */
  readonly also?: readonly string[];
  /** Refused with the hint "did you mean". */
  readonly meant?: readonly string[];
}

/** The only table of spellings. Its keys are the options that help, completion, docs and Python show. */
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

/** Returns every spelling by which a user may mean an option, the shown one first. */
export const spellingsOf = (shown: string): readonly string[] => [
  shown,
  ...alsoAccepted(shown),
  ...(othersOf(shown).meant ?? []),
];

/** Returns the shown spelling of an accepted one: `--lang` of `--language`. */
export const shownSpelling = (long: string): string =>
  Object.keys(spellings).find((shown) => alsoAccepted(shown).includes(long)) ?? long;

/** The option of a TypeScript function's parameter: `--dry-run` of `dryRun`, `--lang` of `language`. */
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

/** Spells options in messages for this reader from now on. @returns a function that undoes it */
export const spellFor = (next: Reader): (() => void) => {
  const former = reader;
  const spellAsBefore = spellBy(spellingFor[next]);
  reader = next;
  return () => {
    reader = former;
    spellAsBefore();
  };
};
