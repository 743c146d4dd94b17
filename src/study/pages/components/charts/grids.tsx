import { useState } from 'preact/hooks';
import { ownValue } from '../../../../core/base/errors/lookup.js';
import { capitalised } from '../../../../core/base/format.js';
import type { PageGrid, PageTask, ReportData } from '../data/data.js';
import { heatOf, rangeOf } from '../data/heat.js';
import { showScore, words } from '../data/numbers.js';
import { taskAt } from '../data/results.js';
import { Caption, Choice, Section, Wide } from './section.js';

type Cells = PageGrid['cells'];

type Place = readonly number[];

export const placeOf = ({ at }: Cells[number], axes: readonly number[]): Place =>
  axes.map((axis) => at[axis] ?? 0);

const placesOf = (cells: Cells, axes: readonly number[]): Place[] =>
  [...new Map(cells.map((cell) => placeOf(cell, axes)).map((place) => [place.join(), place])).values()].sort(
    (a, b) => a.map((index, axis) => index - (b[axis] ?? 0)).find((difference) => difference !== 0) ?? 0,
  );

/** Maximum number of cells in a table: n configurations that form no grid would need n². */
const mostCells = 20_000;

/** Lays out a grid: odd axes go down, even ones across. If that were too large, all go down. */
export const layOut = ({ axes, cells }: PageGrid) => {
  const order = axes.map((_, index) => index).reverse();
  const laid = (isDown: (axis: number) => boolean) => {
    const [down, across] = [order.filter(isDown), order.filter((axis) => !isDown(axis))];
    return { down, across, rows: placesOf(cells, down), columns: placesOf(cells, across) };
  };
  const grid = laid((axis) => axis % 2 === 0);
  return grid.rows.length * grid.columns.length > mostCells ? laid(() => true) : grid;
};

const Best = ({ grid, task }: { grid: PageGrid; task: PageTask }) => {
  const best = grid.best === null ? undefined : grid.cells[grid.best];
  if (best === undefined) return <p class="finding">No best is named: {grid.undecided}.</p>;
  const usual = grid.usual === null ? undefined : grid.cells[grid.usual];
  const at = (cell: PageGrid['cells'][number]) =>
    grid.axes.map(({ name, values }, axis) => `${words(name)} ${values[cell.at[axis] ?? 0]}`).join(', ');
  const { finding } = grid;
  return (
    <p class="finding">
      <b>
        {task.higherIsBetter ? 'Highest' : 'Lowest'}: {at(best)}
      </b>{' '}
      with {showScore(best.value, task)}
      {best.stderr === null ? '' : ` ± ${showScore(best.stderr, task)}`} (mean and standard error over{' '}
      {best.pairs} pairs, {task.n} problems).{' '}
      {usual === undefined || finding === null || usual === best ? null : (
        <>
          Default ({at(usual)}): {showScore(usual.value, task)}. <b>{finding.sentence}</b>{' '}
        </>
      )}
      {usual === best ? <>This is the default. </> : null}
      {grid.cells.length > 2
        ? `The best of ${grid.cells.length} is chosen on the problems that it is scored on, so its score and interval are too good${
            grid.otherHalf === null
              ? '.'
              : `: if chosen on one half of the problems and scored on the other, the best has ${showScore(grid.otherHalf, task)}.`
          }`
        : null}
    </p>
  );
};

const Grid = ({ grid, task }: { grid: PageGrid; task: PageTask }) => {
  const { axes, cells } = grid;
  const { down, across, rows, columns } = layOut(grid);
  const range = rangeOf(cells.map(({ value }) => value));
  const keyOf = (row: Place, column: Place) => `${row.join()} ${column.join()}`;
  const indexes = new Map(
    cells.map((cell, index) => [keyOf(placeOf(cell, down), placeOf(cell, across)), index] as const).reverse(),
  );
  const rowSpans = down.map((_, depth) => new Map(spans(rows, depth).map((span) => [span.from, span.span])));
  const label = (axis: number, index: number | undefined) => axes[axis]?.values[index ?? 0] ?? '';
  const isEdge = (places: readonly Place[], index: number) =>
    index === 0 || places[index]?.slice(0, -1).join() !== places[index - 1]?.slice(0, -1).join();
  const head = (list: readonly number[], at: readonly number[]) =>
    list.map((axis, index) => `${words(axes[axis]?.name ?? '')} ${label(axis, at[index])}`).join(', ');
  return (
    <Wide label={`${capitalised(grid.language)}, configurations`}>
      <table class="heat-map grid">
        <Caption>
          <b>{capitalised(grid.language)}</b> {task.name}: mean over pairs
        </Caption>
        <thead>
          {across.map((axis, depth) => (
            <tr key={axis}>
              {depth === 0 ? <td colSpan={down.length} rowSpan={across.length} /> : null}
              {spans(columns, depth).map(({ at, span }) => (
                <th key={at.join()} scope={span > 1 ? 'colgroup' : 'col'} colSpan={span} class="edge">
                  {span > 1 || across.length === 1 || depth === 0 ? (
                    <span class="axis">{words(axes[axis]?.name ?? '')} </span>
                  ) : (
                    <span class="axis short">{short(axes[axis]?.name ?? '')} </span>
                  )}
                  {label(axis, at[depth])}
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {rows.map((row, r) => (
            <tr key={row.join()} class={isEdge(rows, r) ? 'edge' : undefined}>
              {down.map((axis, depth) => {
                const span = rowSpans[depth]?.get(r);
                return span === undefined ? null : (
                  <th key={axis} scope={span > 1 ? 'rowgroup' : 'row'} rowSpan={span}>
                    <span class="axis">
                      {down.length > 1 ? short(axes[axis]?.name ?? '') : words(axes[axis]?.name ?? '')}{' '}
                    </span>
                    {label(axis, row[depth])}
                  </th>
                );
              })}
              {columns.map((column, c) => {
                const index = indexes.get(keyOf(row, column)) ?? -1;
                const cell = cells[index];
                const edge = isEdge(columns, c) ? ' edge' : '';
                if (cell === undefined)
                  return (
                    <td key={column.join()} class={edge}>
                      –
                    </td>
                  );
                const heat = heatOf(cell.value, range);
                const kind = index === grid.best ? 'best' : index === grid.usual ? 'default' : null;
                return (
                  <td
                    key={column.join()}
                    class={`${heat.class}${edge}${kind === null ? '' : ` is-${kind}`}`}
                    style={heat.style}
                    title={`${head(down, row)}, ${head(across, column)}${cell.stderr === null ? '' : `: ± ${showScore(cell.stderr, task)}`}`}
                  >
                    {showScore(cell.value, task)}
                    {kind === null ? null : <span class="sr"> {kind}</span>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
};

/** Paper's letters for parameters (§4.1); initials for others. */
export const short = (name: string): string =>
  ownValue(symbols, name) ??
  words(name)
    .split(' ')
    .map((word) => word.charAt(0))
    .join('');

const symbols: Readonly<Record<string, string>> = {
  bottom: 'b',
  top: 'u',
  bottomTransition: 'tb',
  topTransition: 'tu',
};

const spans = (list: readonly (readonly number[])[], depth: number) => {
  const found: { from: number; at: readonly number[]; span: number; key: string }[] = [];
  list.forEach((at, from) => {
    const key = at.slice(0, depth + 1).join();
    const last = found.at(-1);
    if (last?.key === key) last.span += 1;
    else found.push({ from, at, span: 1, key });
  });
  return found;
};

export const Grids = ({ data }: { data: ReportData }) => {
  const keys = data.grids.map(({ entry, language }) => `${entry} · ${language}`);
  const [chosen, choose] = useState(keys[0] ?? '');
  const grid = data.grids[keys.indexOf(chosen)];
  if (grid === undefined) return null;
  const task = taskAt(data, grid.task);
  return (
    <Section
      id="configurations"
      title="Configurations"
      lead="Each cell is one configuration of a merge, averaged over the pairs of a language. The best has a frame, the default a dashed one. The best of many may be best by chance."
    >
      <div class="choices controls">
        <Choice label="Entry and language" value={chosen} options={keys} choose={choose} />
      </div>
      <Grid grid={grid} task={task} />
      <p class="key">
        {grid.best === null ? null : (
          <>
            <span class="swatch is-best" /> best{' '}
          </>
        )}
        {grid.usual === null ? null : (
          <>
            <span class="swatch is-default" /> default{' '}
          </>
        )}
        {grid.axes.length > 2
          ? `· ${grid.axes.map(({ name }) => `${short(name)}: ${words(name)}`).join('; ')}`
          : null}
      </p>
      <Best grid={grid} task={task} />
    </Section>
  );
};
