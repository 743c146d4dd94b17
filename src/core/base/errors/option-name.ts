export type OptionSpelling = (name: string, value?: string) => string;

/** Spells options as in function calls: `force`, `as: 'full'`, `top: 0`. */
const ofFunctions: OptionSpelling = (name, value) => {
  if (value === undefined) return `\`${name}\``;
  return `\`${name}: ${/^\d+$/.test(value) ? value : `'${value}'`}\``;
};

let spelling = ofFunctions;

/**
 * Names an option as the reader would write it: `--as full` on the command line, `as: 'full'` in a function
 * call. The code that makes the message does not know which interface was used.
 */
export const optionName: OptionSpelling = (name, value) => spelling(name, value);

/** @returns a function that restores the previous spelling */
export const spellBy = (by: OptionSpelling): (() => void) => {
  const former = spelling;
  spelling = by;
  return () => {
    spelling = former;
  };
};
