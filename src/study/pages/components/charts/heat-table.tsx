import { heatOf } from '../data/heat.js';
import { sixDecimals } from '../data/numbers.js';
import { Caption, Wide } from './section.js';

const percent = (value: number): string => (100 * value).toFixed(value >= 0.995 ? 0 : 1);

interface HeatTableProps {
  name: string;
  caption: string;
  columns: readonly { readonly label: string; readonly title: string }[];
  /** Cells by layer, then column. `other`: a difference without a number; null: no such matrix. */
  cells: readonly (readonly (number | 'other' | null)[])[];
  most: number;
  id?: string | undefined;
  /** Formats a fraction in percent; default: one decimal. */
  show?: ((value: number) => string) | undefined;
}

/** Table of fractions by layer and matrix, with the last layer on top as in the paper's figures. */
export const HeatTable = ({ name, caption, columns, cells, most, id, show = percent }: HeatTableProps) => (
  <Wide label={`${name} by layer and matrix`}>
    <table class="heat-map expert" data-expert={id}>
      <Caption>
        <b>{name}</b> {caption}, in per cent
      </Caption>
      <thead>
        <tr>
          <th scope="col">layer</th>
          {columns.map(({ label, title }) => (
            <th key={title} scope="col" title={title}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {cells
          .map((row, layer) => (
            <tr key={layer}>
              <th scope="row">{layer}</th>
              {row.map((value, column) => {
                const title = columns[column]?.title ?? '';
                return value === null ? (
                  <td key={title} />
                ) : (
                  <td
                    key={title}
                    {...heatOf(value === 'other' ? most : value, [0, most])}
                    data-cell={`${layer},${column}`}
                    title={`layer ${layer}, ${title}: ${value === 'other' ? 'differs' : sixDecimals(value)}`}
                  >
                    {value === 'other' ? '≠' : show(value)}
                  </td>
                );
              })}
            </tr>
          ))
          .reverse()}
      </tbody>
    </table>
  </Wide>
);
