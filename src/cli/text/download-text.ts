import { groupBy } from '../../core/base/errors/lookup.js';
import { formatBytes } from '../../core/base/format.js';
import type { PlannedDownload } from '../../core/plan/plan.js';

const sizes = (models: PlannedDownload['models']): string =>
  [...groupBy(models, ({ of }) => formatBytes(of))]
    .map(([size, some]) => (some.length === 1 ? size : `${some.length} × ${size}`))
    .join(' + ');

/**
 * Returns rows with the download as a share of the models, `9.1 GB of 2 × 16.1 GB (57 %)`; if there are several models,
 * also a row for each. Empty if nothing is downloaded.
 */
export const downloadRows = (download: PlannedDownload | undefined): (readonly [string, string])[] => {
  if (download === undefined || download.bytes === 0) return [];
  const { bytes, models } = download;
  const row = (part: PlannedDownload['models'], amount: number) =>
    `${formatBytes(amount)} of ${sizes(part)} (${share(amount, part)})`;
  return [
    ['to download', row(models, bytes)],
    ...(models.length === 1
      ? []
      : models.map((one) => [`  ${shortCommit(one.model)}`, row([one], one.bytes)] as const)),
  ];
};

/** Abbreviates a commit as Git does; `--json` shows all of it. */
const shortCommit = (model: string): string => model.replace(/(@[0-9a-f]{7})[0-9a-f]{33}$/, '$1');

const share = (amount: number, models: PlannedDownload['models']): string => {
  const percent = (100 * amount) / models.reduce((total, { of }) => total + of, 0);
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
};
