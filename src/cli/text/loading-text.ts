import { some } from '../../core/base/errors/sentence.js';
import type { LoadingVerdict } from '../../core/measure/verification/loading-verdict.js';

export const describeLoading = ({ loads, by, loadedAs, reason, ...found }: LoadingVerdict): string => {
  const libraries = ['transformers', 'peft', 'torch']
    .filter((name) => by[name] !== undefined)
    .map((name) => `${name} ${by[name]}`)
    .join(', ');
  if (loads === null) return `loading was not checked: ${reason} (${libraries})`;
  if (loads)
    return `loads as ${loadedAs}: no tensor is missing, unexpected or of another shape (${libraries})`;
  return [
    `does not load as ${loadedAs} (${libraries}):`,
    ...faultsOf({ reason, ...found }).map((fault) => `  ${fault}`),
  ].join('\n');
};

export const faultsOf = ({
  missing,
  unexpected,
  mismatched,
  dtype,
  reason,
}: Omit<LoadingVerdict, 'loads' | 'by' | 'loadedAs'>): string[] => [
  ...(missing.length > 0 ? [`missing: ${some(missing, 3)}`] : []),
  ...(unexpected.length > 0 ? [`unexpected: ${some(unexpected, 3)}`] : []),
  ...mismatched
    .slice(0, 3)
    .map(
      ({ tensor, stored, model }) =>
        `${tensor} is [${stored.join(', ')}], but [${model.join(', ')}] in the model`,
    ),
  ...(mismatched.length > 3 ? [`… (${mismatched.length} of other shapes in all)`] : []),
  ...(dtype === null
    ? []
    : [
        `config.json says ${dtype.said}, but the tensors are ${Object.entries(dtype.stored)
          .map(([name, count]) => `${name} (${count})`)
          .join(', ')}`,
      ]),
  ...(reason === null ? [] : [reason]),
];
