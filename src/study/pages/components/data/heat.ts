/** Shares above which text is black in the dark theme and white in the light theme. */
const [bright, deep] = [0.62, 0.815];

/**
 * Attributes of a heat map's cell. `style` has the position on the scale, from which the style sheet mixes
 * the colour; `class` selects a legible text colour.
 */
export const heatOf = (
  value: number,
  [from, to]: readonly [number, number],
): { class: string; style: string } => {
  const share = to > from ? Math.min(1, Math.max(0, (value - from) / (to - from))) : 0.5;
  const half = share < 0.5 ? 2 * share : 2 * share - 1;
  return {
    class: `heat ${share < 0.5 ? 'cool' : 'warm'}${share > deep ? ' deep' : share > bright ? ' bright' : ''}`,
    style: `--heat:${(100 * half).toFixed(0)}%`,
  };
};

export const rangeOf = (values: readonly number[]): readonly [number, number] =>
  values.length === 0
    ? [0, 0]
    : [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
