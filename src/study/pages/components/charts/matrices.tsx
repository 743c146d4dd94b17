import { useState } from 'preact/hooks';
import { capitalised } from '../../../../core/base/format.js';
import type { PageModel, PageTask, ReportData } from '../data/data.js';
import { heatOf, rangeOf } from '../data/heat.js';
import { showScore } from '../data/numbers.js';
import { resultOf, taskAt, tasksOf } from '../data/results.js';
import { Caption, Choice, Section, Wide } from './section.js';

const different = (names: readonly (string | null)[]): string[] => [
  ...new Set(names.filter((name) => name !== null)),
];

const key = ({ entry, variant }: PageModel): string => `${entry}\n${variant}`;

const paired = ({ models }: ReportData): PageModel[] =>
  models.filter(
    ({ role, task, languageExpert }) => role === 'merge' && task !== null && languageExpert !== null,
  );

type MatrixProps = { language: string; merges: readonly PageModel[]; task: PageTask; index: number };

const Matrix = ({ language, merges, task, index }: MatrixProps) => {
  const rows = different(merges.map((merge) => merge.task));
  const columns = different(merges.map((merge) => merge.languageExpert));
  const at = (row: string, column: string) => {
    const merge = merges.find((one) => one.task === row && one.languageExpert === column);
    return merge === undefined ? undefined : resultOf(merge, index);
  };
  const values = rows.flatMap((row) => columns.flatMap((column) => at(row, column)?.value ?? []));
  const range = rangeOf(values);
  const [least, most] = range;
  const best = task.undecided !== null || least === most ? undefined : task.higherIsBetter ? most : least;
  return (
    <figure class="matrix">
      <Wide label={`${capitalised(language)}, ${task.name}`}>
        <table class="heat-map">
          <Caption>
            <b>{capitalised(language)}</b> {task.name}
            {task.undecided === null ? '' : `; no best is named: ${task.undecided}`}
          </Caption>
          <thead>
            <tr>
              <td />
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row}>
                <th scope="row">{row}</th>
                {columns.map((column) => {
                  const result = at(row, column);
                  if (result?.value == null) return <td key={column}>–</td>;
                  const isBest = result.value === best;
                  return (
                    <td key={column} {...heatOf(result.value, range)}>
                      {isBest ? <b>{showScore(result.value, task)}</b> : showScore(result.value, task)}
                      {isBest ? <span class="sr"> best</span> : null}
                      {result.stderr === null ? null : (
                        <small class="error">±{showScore(result.stderr, task)}</small>
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </figure>
  );
};

export const hasMatrices = (data: ReportData): boolean =>
  paired(data).some(({ results }) => results.length > 0);

/** Tables of scores by pair, one heat map per language. */
export const Matrices = ({ data }: { data: ReportData }) => {
  const all = paired(data);
  const keys = different(all.filter(({ results }) => results.length > 0).map(key));
  const [chosen, choose] = useState(keys.find((one) => one.endsWith('\ndefault')) ?? keys[0] ?? '');
  const depth = Math.max(0, ...data.languages.map((language) => tasksOf(data, language).length));
  const [level, setLevel] = useState(0);
  if (keys.length === 0) return null;
  const label = (one: string) => {
    const [entry = '', variant = ''] = one.split('\n');
    return variant.startsWith(entry) ? variant : `${entry}: ${variant}`;
  };
  return (
    <Section
      id="pairs"
      title="Every pair of experts"
      lead="Rows are task experts, columns are language experts. Each language has its own colour scale; ± is the standard error over problems."
    >
      <div class="choices controls">
        <Choice
          label="Merge"
          value={chosen}
          options={keys.map((value) => ({ value, label: label(value) }))}
          choose={choose}
        />
        {depth < 2 ? null : (
          <Choice
            label="Task"
            value={String(level)}
            options={Array.from({ length: depth }, (_, at) => ({
              value: String(at),
              label: different(
                data.languages.map((language) => {
                  const index = tasksOf(data, language)[at];
                  return index === undefined ? null : taskAt(data, index).name;
                }),
              ).join(', '),
            }))}
            choose={(value) => setLevel(Number(value))}
          />
        )}
      </div>
      <p class="print-only">{label(chosen)}</p>
      <div class="matrices">
        {data.languages.map((language) => {
          const merges = all.filter((one) => one.language === language && key(one) === chosen);
          const index = tasksOf(data, language)[level];
          return merges.length === 0 || index === undefined ? null : (
            <Matrix key={language} {...{ language, merges, index }} task={taskAt(data, index)} />
          );
        })}
      </div>
    </Section>
  );
};
