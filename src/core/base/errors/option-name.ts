export type OptionSpelling = (name: string, value?: string) => string;

/** Spells options as in function calls: `force`, `as: 'full'`, `top: 0`. */
const ofFunctions: OptionSpelling = (name, value) => {
  if (value === undefined) return `\`${name}\``;
  return `\`${name}: ${/^\d+$/.test(value) ? value : `'${value}'`}\``;
};

let spelling = ofFunctions;

/**
 * Names an option in the reader's interface: `--as full` on the command line, `as: 'full'` in a function
 * call. Code that makes messages does not know the interface.
 */
export const optionName: OptionSpelling = (name, value) => spelling(name, value);

/**
 * Sets the spelling of options.
 *
 * @returns a function that restores the previous spelling
 */
export const spellBy = (by: OptionSpelling): (() => void) => {
  const former = spelling;
  spelling = by;
  return () => {
    spelling = former;
  };
};
