/** Spells an option, with a value where one is meant. */
export type OptionSpelling = (name: string, value: string | undefined) => string;

/** As calls of functions spell them: `force`, `as: 'full'`, `top: 0`. */
const ofFunctions: OptionSpelling = (name, value) => {
  if (value === undefined) return `\`${name}\``;
  return `\`${name}: ${/^\d+$/.test(value) ? value : `'${value}'`}\``;
};

let spelling = ofFunctions;

/**
 * Names an option in a message, as who reads it would give it. Messages are made where the error is, far below the
 * door that the caller came in by: the command line says `--as full` where a function says `as: 'full'`.
 *
 * @param name of the functions' option
 */
export const optionName = (name: string, value?: string): string => spelling(name, value);

/** As shells spell them: `--force`, `--as full`. */
const ofShells: OptionSpelling = (name, value) =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}${value === undefined ? '' : ` ${value}`}`;

/** Words of Python, which no parameter can be named: it has an underscore behind it. */
const pythonWords = new Set(['as', 'from', 'import']);

/** The name in Python of an option's long form: `dry_run` of `--dry-run`. */
export const pythonName = (long: string): string => {
  const name = long.replace(/^--/, '').replaceAll('-', '_');
  return pythonWords.has(name) ? `${name}_` : name;
};

/** As calls in Python spell them: `force`, `as_='full'`. */
const ofPython: OptionSpelling = (name, value) => {
  const spelt = pythonName(ofShells(name, undefined));
  return value === undefined ? `\`${spelt}\`` : `\`${spelt}=${/^\d+$/.test(value) ? value : `'${value}'`}\``;
};

/** Who reads the messages of a command. */
export type Reader = 'shell' | 'python';

/** True while messages are for who typed a command. */
export const isForShell = (): boolean => spelling === ofShells;

/** Spells options for a reader, from now on. Returns what ends that. */
export const spellFor = (reader: Reader): (() => void) => {
  const former = spelling;
  spelling = reader === 'shell' ? ofShells : ofPython;
  return () => {
    spelling = former;
  };
};
