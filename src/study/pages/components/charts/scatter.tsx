import { scaleLinear, scaleLog } from 'd3-scale';
import { useState } from 'preact/hooks';
import { capitalised } from '../../../../core/base/format.js';
import type { PageModel, PageTask, ReportData } from '../data/data.js';
import { rangeOf } from '../data/heat.js';
import { showCost, showScore, spaced } from '../data/numbers.js';
import { linkTo, resultOf, taskAt, tasksOf } from '../data/results.js';
import { Choice, SaveSvg, Section, Wide } from './section.js';

const [width, height] = [960, 420];
const margin = { left: 56, right: 24, top: 16, bottom: 48 };

interface Point {
  readonly model: PageModel;
  readonly x: number;
  readonly y: number;
}

const seriesOf = (points: readonly Point[]): string[] => [
  ...new Set(points.map(({ model }) => model.entry ?? model.method ?? model.role)),
];

const shapes = [
  'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z',
  'M-3.6 -3.6h7.2v7.2h-7.2z',
  'M0 -4.8L4.4 3.4H-4.4z',
  'M0 -5L5 0L0 5L-5 0z',
  'M0 4.8L4.4 -3.4H-4.4z',
  'M-1.4 -4.4h2.8v3h3v2.8h-3v3h-2.8v-3h-3v-2.8h3z',
];

/**
 * Returns the point with the best score; undefined if the problems cannot decide, or all scores are equal.
 */
const bestOf = (points: readonly Point[], { undecided, higherIsBetter }: PageTask): Point | undefined => {
  const [least, most] = rangeOf(points.map(({ y }) => y));
  if (undecided !== null || (least === most && points.length > 1)) return undefined;
  return points.find(({ y }) => y === (higherIsBetter ? most : least));
};

interface PictureProps {
  points: readonly Point[];
  task: PageTask;
  lines: readonly PageModel[];
  cost: ReportData['costs'][number];
  language: string;
  index: number;
}

const Picture = ({ points, task, lines, cost, language, index }: PictureProps) => {
  const [xFrom, xTo] = rangeOf(points.map(({ x }) => x));
  const isLog = xFrom > 0 && xTo / xFrom > 50;
  const pad = (xTo - xFrom) * 0.04 || 1;
  const x = (isLog ? scaleLog() : scaleLinear())
    .domain(isLog ? [xFrom * 0.85, xTo * 1.18] : [Math.max(0, xFrom - pad), xTo + pad])
    .range([margin.left, width - margin.right]);
  const references = lines.flatMap((model) => {
    const score = resultOf(model, index);
    return score?.value == null ? [] : [{ name: model.name, y: score.value }];
  });
  const y = scaleLinear()
    .domain(rangeOf([...points.map((point) => point.y), ...references.map((line) => line.y)]))
    .nice()
    .range([height - margin.bottom, margin.top]);
  const series = seriesOf(points);
  const best = bestOf(points, task);
  const ofAll = `${task.higherIsBetter ? 'Highest' : 'Lowest'} of ${points.length}, chosen on the problems that it is scored on`;
  const none = `No best is named: ${task.undecided ?? 'all are equal'}`;
  return (
    <>
      <svg
        class="scatter"
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="img"
        aria-labelledby="scatter-title scatter-desc"
      >
        <title id="scatter-title">
          {capitalised(language)}: {task.name} against {cost.label}
        </title>
        <desc id="scatter-desc">
          {`${points.length} merges. ${cost.label} from ${showCost(xFrom, cost.unit)} to ${showCost(xTo, cost.unit)}. ${best === undefined ? none : `${ofAll}: ${best.model.name}, ${showScore(best.y, task)} at ${showCost(best.x, cost.unit)}`}. The list of merges has every figure.`}
        </desc>
        {y.ticks(6).map((tick) => (
          <g key={tick}>
            <path class="rule" d={`M${margin.left} ${y(tick)}H${width - margin.right}`} />
            <text class="tick" x={margin.left - 10} y={y(tick) + 4} text-anchor="end">
              {showScore(tick, task)}
            </text>
          </g>
        ))}
        {spaced(x.ticks(isLog ? 4 : 7), x).map((tick) => (
          <text key={tick} class="tick" x={x(tick)} y={height - margin.bottom + 20} text-anchor="middle">
            {showCost(tick, cost.unit)}
          </text>
        ))}
        <text class="axis" x={width - margin.right} y={height - 8} text-anchor="end">
          {cost.label} →
        </text>
        {references.map((line) => (
          <g key={line.name}>
            <path class="reference" d={`M${margin.left} ${y(line.y)}H${width - margin.right}`} />
            <text class="tick" x={width - margin.right} y={y(line.y) - 4} text-anchor="end">
              {line.name}
            </text>
          </g>
        ))}
        {points.map((point) => {
          const at = series.indexOf(point.model.entry ?? point.model.method ?? point.model.role);
          return (
            <path
              key={point.model.name}
              class={`point series-${at % shapes.length}`}
              d={shapes[at % shapes.length]}
              transform={`translate(${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)})`}
            >
              <title>{`${point.model.name}: ${showScore(point.y, task)}, ${showCost(point.x, cost.unit)}`}</title>
            </path>
          );
        })}
        {best === undefined ? null : (
          <text class="best-label" x={Math.min(x(best.x) + 9, width - 190)} y={Math.max(y(best.y) - 8, 12)}>
            {best.model.name}
          </text>
        )}
      </svg>
      <SaveSvg name={`${cost.label} ${language}`} />
      <p class="key">
        {series.map((name, index) => (
          <span key={name} class="entry">
            <svg viewBox="-6 -6 12 12" width="12" height="12" aria-hidden="true">
              <path class={`point series-${index % shapes.length}`} d={shapes[index % shapes.length]} />
            </svg>{' '}
            {name}
          </span>
        ))}
        {best === undefined ? (
          `${none}.`
        ) : (
          <span>
            {ofAll}: <a href={linkTo(best.model.name)}>{best.model.name}</a>
          </span>
        )}
      </p>
    </>
  );
};

const scoredLanguages = (data: ReportData): string[] =>
  data.languages.filter((language) => {
    const [index] = tasksOf(data, language);
    return (
      index !== undefined &&
      data.models.some((model) => model.language === language && resultOf(model, index)?.value != null)
    );
  });

export const hasScatter = (data: ReportData): boolean =>
  data.costs.length > 0 && scoredLanguages(data).length > 0;

export const Scatter = ({ data }: { data: ReportData }) => {
  const languages = scoredLanguages(data);
  const [language, setLanguage] = useState(languages[0] ?? '');
  const [key, setKey] = useState(data.costs[0]?.key ?? '');
  const cost = data.costs.find((one) => one.key === key);
  const [index] = tasksOf(data, language);
  if (cost === undefined || index === undefined || languages.length === 0) return null;
  const points = data.models.flatMap((model): Point[] => {
    const y = model.language === language ? resultOf(model, index)?.value : undefined;
    const x = model.cost[key];
    return y == null || x === undefined ? [] : [{ model, x, y }];
  });
  return (
    <Section id="cost" title="Score against cost">
      <div class="choices controls">
        <Choice label="Language" value={language} options={languages} choose={setLanguage} />
        <Choice
          label="Cost"
          value={key}
          options={data.costs.map((one) => ({ value: one.key, label: one.label }))}
          choose={setKey}
        />
      </div>
      {points.length === 0 ? (
        <p class="none">No merge of {language} has this cost.</p>
      ) : (
        <Wide label="Picture of scores and costs">
          <Picture
            {...{ points, cost, language }}
            task={taskAt(data, index)}
            index={index}
            lines={data.models.filter(({ role }) => role === 'base')}
          />
        </Wide>
      )}
    </Section>
  );
};
