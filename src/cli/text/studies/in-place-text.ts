import { counted, formatBytes } from '../../../core/base/format.js';
import type { CostInPlace } from '../../../study/experiment/in-place/cost-in-place.js';

export const inPlaceRows = (inPlace: CostInPlace | undefined): string[][] => {
  if (inPlace === undefined || inPlace.merges === 0) return [];
  const { merges, bytes, place, bytesWritten, withoutDonor } = inPlace;
  return [
    [
      'not written',
      `${counted(merges, 'merge')}; to score them in place, ${formatBytes(bytes)} in ${place} while it runs, instead of ${formatBytes(bytesWritten)} written`,
    ],
    ...(withoutDonor === 0
      ? []
      : [
          [
            '',
            `${counted(withoutDonor, 'merge')} of them must be written: no model has tensors of the same names, shapes and dtypes`,
          ],
        ]),
  ];
};
