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

/** Spells options as shells do, from now on. Returns what ends that. */
export const spellForShells = (): (() => void) => {
  const former = spelling;
  spelling = ofShells;
  return () => {
    spelling = former;
  };
};
