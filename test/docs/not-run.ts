/** Commands that the test of pages leaves out, as they are written, by reason. A line that no page has fails the test. */
export const notRun: Readonly<Record<string, readonly string[]>> = {
  'builds the clone, or runs its tests': [],
};

/** Commands of `console` blocks that are planned over models of the size of Llama 3.1 8B, since the page shows its figures. */
export const atFullSize: readonly string[] = [];
