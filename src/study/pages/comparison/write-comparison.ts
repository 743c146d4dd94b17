import { extname } from 'node:path';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import type { Comparison } from '../../../core/measure/comparison/comparison.js';
import { ComparisonPage } from '../components/comparison-page.js';
import { htmlPage } from '../html-page.js';
import { drawPicture } from '../pictures/draw-picture.js';
import { HeatMap } from '../pictures/heat-map.js';
import { writePage } from '../report/write-report.js';
import { comparisonCsv } from './comparison-csv.js';
import { comparisonPage, comparisonPicture } from './comparison-data.js';

const drawPage = (comparison: Comparison): Promise<string> => {
  const data = comparisonPage(comparison);
  return htmlPage(ComparisonPage, {
    title: `${data.a.name} and ${data.b.name}`,
    data,
    script: 'comparison',
  });
};

const texts: Readonly<Record<string, (comparison: Comparison) => string | Promise<string>>> = {
  '.html': drawPage,
  '.svg': (comparison) => drawPicture(HeatMap, comparisonPicture(comparison)),
  '.csv': comparisonCsv,
};

/** @throws INVALID_PARAMETER for an unknown extension */
export const checkComparisonFile = (out: string): void => {
  if (!Object.hasOwn(texts, extname(out)))
    throw invalidParameter('out', out, `a file name that ends in ${Object.keys(texts).join(', ')}`);
};

/**
 * Writes a comparison as a page, a picture or a table.
 *
 * @throws INVALID_PARAMETER, OUTPUT_EXISTS, WRITE_FAILED
 */
export const writeComparison = async (comparison: Comparison, out: string, force: boolean): Promise<void> => {
  checkComparisonFile(out);
  await writePage(out, (await texts[extname(out)]?.(comparison)) ?? '', force);
};
