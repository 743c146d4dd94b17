import { ownValue } from '../../../core/base/errors/lookup.js';
import type { Scale } from './metrics.js';
import { type Cell, fixed } from './score-table.js';
import type { ImportedSummary } from './scored-experiment.js';

export const allLanguages = 'all languages';

const aliases: Readonly<Record<string, string>> = {
  expert: 'language',
  'language expert': 'language',
  'language experts': 'language',
  math: 'task',
  'math expert': 'task',
  'math experts': 'task',
  'task expert': 'task',
  'task experts': 'task',
  'joint sft': 'joint',
  'soup pairwise': 'soup-best',
  'swap pairwise': 'swap-default',
  'language soup x math soup': 'soup-of-each',
  'multilingual soup x math soup': 'multilingual',
};

const shared = ['base', 'task'];

interface Figure {
  readonly summary: ImportedSummary;
  readonly group: string;
  /** Language; undefined for groups that all languages share. */
  readonly subject: string | undefined;
}

export class ImportedFigures {
  readonly #figures: readonly Figure[];

  constructor(summaries: readonly ImportedSummary[]) {
    const languages = new Set(summaries.map(({ language }) => language));
    this.#figures = summaries.map((summary) => {
      const row = summary.row.toLowerCase().trim();
      const named = [...languages].find((language) => row.startsWith(`${language} `));
      const rest = named === undefined ? row : row.slice(named.length + 1);
      const group = ownValue(aliases, rest) ?? rest.replaceAll(' ', '-');
      const own = shared.includes(group) ? undefined : summary.language;
      return { summary, group, subject: named ?? own };
    });
  }

  get benchmarks(): string[] {
    return [...new Set(this.#figures.map(({ summary }) => summary.benchmark))];
  }

  get languages(): string[] {
    return [...new Set(this.#figures.flatMap(({ subject }) => subject ?? []))];
  }

  testedIn(benchmark: string): string[] {
    const own = this.#figures.filter(({ summary }) => summary.benchmark === benchmark);
    return [...new Set(own.map(({ summary }) => summary.language))];
  }

  groupsOf(benchmark: string): string[] {
    const own = this.#figures.filter(({ summary }) => summary.benchmark === benchmark);
    return [...new Set(own.map(({ group }) => group))];
  }

  /**
   * Returns a figure as a cell, preferably in the table's unit. If other figures for the cell differ, its
   * flag names them.
   *
   * @param subject language of the group's models
   * @param language language of the benchmark
   */
  cell(
    { benchmark, group, subject, language, statistic }: FigureKey,
    { unit, factor, digits }: Pick<Scale, 'factor' | 'digits'> & { readonly unit: ImportedSummary['unit'] },
  ): Cell | undefined {
    const found = this.#figures.filter(
      (figure) =>
        figure.group === group &&
        figure.summary.benchmark === benchmark &&
        figure.summary.language === language &&
        figure.summary.statistic === statistic &&
        (figure.subject === undefined || figure.subject === subject),
    );
    const [chosen] = [...found.filter(({ summary }) => summary.unit === unit), ...found];
    if (chosen === undefined) return undefined;
    const { summary } = chosen;
    const value = onScale(summary, factor);
    // Rounding explains a difference of up to half a step of the coarser figure.
    const others = found.filter(
      ({ summary: other }) =>
        Math.abs(onScale(other, factor) - value) > 0.5 * Math.min(factor, 100) * 1e-3 + 1e-9,
    );
    const differing = others.map(
      ({ summary: other }) => `${other.file} has ${fixed(onScale(other, factor), digits)}`,
    );
    const doubts = [...(summary.note === undefined ? [] : [summary.note]), ...differing];
    return {
      value,
      digits,
      source: 'imported',
      ...(summary.n === undefined ? {} : { n: summary.n }),
      ...(doubts.length === 0 ? {} : { flag: doubts.join('; ') }),
    };
  }
}

export interface FigureKey {
  readonly benchmark: string;
  readonly group: string;
  readonly subject: string | undefined;
  readonly language: string;
  readonly statistic: ImportedSummary['statistic'];
}

const onScale = ({ value, unit }: ImportedSummary, factor: number): number => {
  if (unit === 'BLEU') return value;
  return unit === 'percent' ? (value / 100) * factor : value * factor;
};
