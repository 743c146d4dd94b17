import { scaleLinear } from 'd3-scale';
import { ink, Picture } from './picture.js';

export interface ConfigurationsPicture {
  readonly title: string;
  readonly subtitle: string;
  /** Labels of rows (from the top) and columns (from the left). */
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly cells: readonly {
    readonly row: number;
    readonly column: number;
    readonly value: number;
    readonly text: string;
    readonly kind: 'best' | 'default' | undefined;
  }[];
}

const colours = ['#f7fcf5', '#a1d99b', '#238b45'] as const;

const [top, cellWidth, cellHeight, margin] = [76, 46, 22, 24] as const;

export const ConfigurationsPicture = ({ title, subtitle, rows, columns, cells }: ConfigurationsPicture) => {
  const values = cells.map(({ value }) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const colour = scaleLinear<string>()
    .domain(low === high ? [low - 1, low, low + 1] : [low, (low + high) / 2, high])
    .range(colours);
  const left = margin + Math.ceil(6.2 * Math.max(...rows.map(({ length }) => length))) + 8;
  const headHeight = Math.ceil(5.4 * Math.max(...columns.map(({ length }) => length)));
  const from = top + headHeight;
  const place = ({ row, column }: { readonly row: number; readonly column: number }) => ({
    x: left + column * cellWidth,
    y: from + row * cellHeight,
  });
  return (
    <Picture
      {...{ title, subtitle }}
      left={margin}
      description={cells
        .map(({ row, column, text }) => `${rows[row]}, ${columns[column]}: ${text}`)
        .join('; ')}
      width={Math.max(360, left + columns.length * cellWidth + margin)}
      height={from + rows.length * cellHeight + 44}
    >
      {columns.map((label, column) => {
        const [x, y] = [left + (column + 0.5) * cellWidth + 3, from - 6];
        return (
          <text key={label} x={x} y={y} font-size={10} transform={`rotate(-90 ${x} ${y})`}>
            {label}
          </text>
        );
      })}
      {rows.map((label, row) => (
        <text key={label} x={left - 6} y={from + row * cellHeight + 15} font-size={10} text-anchor="end">
          {label}
        </text>
      ))}
      {cells.map((cell) => {
        const { x, y } = place(cell);
        return (
          <g key={`${cell.row} ${cell.column}`}>
            <rect
              {...{ x, y }}
              width={cellWidth}
              height={cellHeight}
              fill={colour(cell.value)}
              stroke="#fff"
            />
            <text x={x + cellWidth / 2} y={y + 15} font-size={11} text-anchor="middle">
              {cell.text}
            </text>
          </g>
        );
      })}
      {cells
        .filter(({ kind }) => kind !== undefined)
        .map((cell) => {
          const { x, y } = place(cell);
          return (
            <rect
              key={cell.kind}
              x={x + 1}
              y={y + 1}
              width={cellWidth - 2}
              height={cellHeight - 2}
              fill="none"
              stroke={ink.text}
              stroke-width={2}
              stroke-dasharray={cell.kind === 'default' ? '4 3' : undefined}
            />
          );
        })}
      <text x={margin} y={from + rows.length * cellHeight + 26} font-size={10} fill={ink.soft}>
        {cells
          .flatMap(({ kind }) =>
            kind === undefined ? [] : [kind === 'best' ? 'framed: best' : 'dashed: default'],
          )
          .join('; ')}
      </text>
    </Picture>
  );
};
