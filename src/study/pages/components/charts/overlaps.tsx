import type { ComponentChildren } from 'preact';
import {
  describeOverlap,
  describeTopOverlap,
  type LayerFigures,
  LayerLines,
  Line,
  type Measure,
  measures,
  plotSize,
  showMeasure,
  topMeasures,
} from '../../pictures/overlap.js';
import type { PageAnalysis } from '../data/data.js';
import { percent } from '../data/numbers.js';
import { groupsOfPairs } from '../data/pair-groups.js';
import { Table } from './section.js';

export const Key = ({ of }: { of: readonly Measure[] }) => (
  <p class="key">
    {of.map((measure) => (
      <span key={measure.key} class="entry">
        <svg viewBox="0 0 26 8" width="26" height="8" aria-hidden="true">
          <Line measure={measure} d="M0 4h26" />
        </svg>{' '}
        {measure.label}
      </span>
    ))}
  </p>
);

interface LayerFigureProps<Name extends string> {
  title: string;
  label: string;
  parts: readonly LayerFigures<Name>[];
  whole?: LayerFigures<Name> | undefined;
  ofWhole?: string | undefined;
  measures: readonly Measure<Name>[];
  most?: number | undefined;
  children?: ComponentChildren;
}

export const LayerFigure = <Name extends string>({
  title,
  label,
  parts,
  whole,
  ofWhole,
  measures: lines,
  most,
  children,
}: LayerFigureProps<Name>) => {
  const { width, height } = plotSize(parts);
  const cells = (part: LayerFigures<Name>) => lines.map(({ key }) => showMeasure(part[key]));
  return (
    <figure>
      <figcaption>
        <b>{title}</b>
        {children}
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height + 12}`}
        width={width}
        height={height + 12}
        role="img"
        aria-label={`${label}. The numbers follow as a table.`}
      >
        <LayerLines {...{ parts, most }} measures={lines} top={12} />
      </svg>
      <details>
        <summary>Numbers</summary>
        <Table
          label={label}
          heads={['Layer', ...lines.map((line) => line.label)]}
          rows={[
            ...parts.toReversed().map((part) => [part.layer ?? 'outside', ...cells(part)]),
            ...(whole === undefined ? [] : [[ofWhole, ...cells(whole)]]),
          ]}
        />
      </details>
    </figure>
  );
};

interface PairOfExperts<Name extends string> {
  readonly experts: readonly [string, string];
  readonly parts: readonly LayerFigures<Name>[];
  readonly whole: LayerFigures<Name>;
}

interface PairsProps<Name extends string, Pair extends PairOfExperts<NoInfer<Name>>> {
  pairs: readonly Pair[];
  roles: PageAnalysis['roles'];
  ofWhole: string;
  of: readonly Measure<Name>[];
  describe: (pair: Pair) => string;
  sentence: (pair: Pair) => string;
}

const Pairs = <Name extends string, Pair extends PairOfExperts<NoInfer<Name>>>({
  pairs,
  roles,
  ofWhole,
  of: measured,
  describe,
  sentence,
}: PairsProps<Name, Pair>) => (
  <>
    <Key of={measured} />
    {groupsOfPairs(pairs, roles).map(({ title, isOpen, pairs: of }) => {
      const figures = (
        <div class="figures">
          {of.map((pair) => (
            <LayerFigure
              key={pair.experts.join('\n')}
              title={pair.experts.join(' and ')}
              label={describe(pair)}
              parts={pair.parts}
              whole={pair.whole}
              ofWhole={ofWhole}
              measures={measured}
            >
              {' '}
              {sentence(pair)}
            </LayerFigure>
          ))}
        </div>
      );
      if (title === null) return figures;
      return (
        <details key={title} class="group" open={isOpen}>
          <summary>
            {title} ({of.length} {of.length === 1 ? 'pair' : 'pairs'})
          </summary>
          {figures}
        </details>
      );
    })}
  </>
);

export const Overlaps = ({ overlaps, roles }: Pick<PageAnalysis, 'overlaps' | 'roles'>) => (
  <Pairs
    pairs={overlaps}
    roles={roles}
    ofWhole="whole model"
    of={measures}
    describe={describeOverlap}
    sentence={({ whole }) => `cosine ${showMeasure(whole.cosine)} in the whole model`}
  />
);

export const topLead = ({ topOverlaps, rows }: Pick<PageAnalysis, 'topOverlaps' | 'rows'>): string =>
  `For each matrix, the ${percent(topOverlaps[0]?.topShare ?? 0)} of ${rows} rows with the largest MAV: the share of them that is the same in both experts, and the share expected by chance.`;

export const TopOverlaps = ({ topOverlaps, roles }: Pick<PageAnalysis, 'topOverlaps' | 'roles'>) => (
  <Pairs
    pairs={topOverlaps}
    roles={roles}
    ofWhole="all layers"
    of={topMeasures}
    describe={describeTopOverlap}
    sentence={({ whole: { shared, rows, chance } }) =>
      `${showMeasure(shared)} of ${rows} rows, by chance ${showMeasure(chance)}`
    }
  />
);
