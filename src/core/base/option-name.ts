export type OptionSpelling = (name: string, value: string | undefined) => string;

/** Spells options as in function calls: `force`, `as: 'full'`, `top: 0`. */
const ofFunctions: OptionSpelling = (name, value) => {
  if (value === undefined) return `\`${name}\``;
  return `\`${name}: ${/^\d+$/.test(value) ? value : `'${value}'`}\``;
};

let spelling = ofFunctions;

/**
 * Names an option in a message as the reader would write it: `--as full` on the command line, `as: 'full'` in
 * a function. Errors arise far below the interface that the caller used.
 *
 * @param name the option of the TypeScript functions
 */
export const optionName = (name: string, value?: string): string => spelling(name, value);

/** Spells options as in a shell: `--force`, `--as full`. */
const ofShells: OptionSpelling = (name, value) =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}${value === undefined ? '' : ` ${value}`}`;

/** Keywords of Python, which cannot name a parameter and get an underscore. */
const pythonWords = new Set(['as', 'from', 'import']);

/** The Python name of a long option: `dry_run` for `--dry-run`. */
export const pythonName = (long: string): string => {
  const name = long.replace(/^--/, '').replaceAll('-', '_');
  return pythonWords.has(name) ? `${name}_` : name;
};

/** Spells options as in Python calls: `force`, `as_='full'`. */
const ofPython: OptionSpelling = (name, value) => {
  const spelt = pythonName(ofShells(name, undefined));
  return value === undefined ? `\`${spelt}\`` : `\`${spelt}=${/^\d+$/.test(value) ? value : `'${value}'`}\``;
};

export type Reader = 'shell' | 'python';

export const isForShell = (): boolean => spelling === ofShells;

/** Sets the spelling of options from now on. @returns a function that restores the former one */
export const spellFor = (reader: Reader): (() => void) => {
  const former = spelling;
  spelling = reader === 'shell' ? ofShells : ofPython;
  return () => {
    spelling = former;
  };
};
