/** Data goes to stdout; everything else to stderr. */
export const printLine = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

export const printJson = (value: unknown): void => printLine(JSON.stringify(value, null, 2));

export const note = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

export const warn = (warning: string): void => note(`warning: ${warning}`);
