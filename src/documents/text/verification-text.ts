import type { OutputVerification, VerifiedFile } from '../../measure/verification/verification.js';
import { formatBytes } from './format.js';
import { plainTable } from './table.js';

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;

/** Formats what was found of an output: what was compared, then what differs. */
export const describeOutput = (found: OutputVerification): string => {
  const { out, layerloom, structure, files, unlisted, againstInputs } = found;
  const of = (state: VerifiedFile['state']) => files.filter((file) => file.state === state);
  const named = (list: readonly VerifiedFile[]) => list.map(({ file }) => file).join(', ');
  const [equal, unrecorded, edited] = [of('equal'), of('unrecorded'), of('edited')];
  const wrong = [...of('different'), ...of('missing')];
  return [
    `${out}: ${count(files.length, 'file')}, ${layerloom === null ? 'with no record' : `written by layerloom ${layerloom}`}`,
    ...(structure === null ? [] : [`it cannot be opened: ${structure}`]),
    ...(equal.length > 0 ? [`${count(equal.length, 'file')} as written`] : []),
    ...(unrecorded.length > 0
      ? [`${count(unrecorded.length, 'file')} of which no SHA-256 is known: ${named(unrecorded)}`]
      : []),
    ...(edited.length > 0 ? [`edited since: ${named(edited)}`] : []),
    ...(unlisted.length > 0 ? [`not of the merge: ${unlisted.join(', ')}`] : []),
    ...(againstInputs === null
      ? []
      : [
          describeTiles(againstInputs),
          plainTable(againstInputs.inputs.map(({ name, path, commit }) => [name, commit ?? path])),
        ]),
    ...(wrong.length > 0 ? [plainTable(wrong.map(({ file, reason = '' }) => [file, reason]))] : []),
    ...(againstInputs !== null && againstInputs.different.length > 0
      ? [
          plainTable(
            againstInputs.different.map(({ file, tensor, at }) => [
              file,
              tensor ?? 'header',
              `from byte ${at} of the file`,
            ]),
          ),
        ]
      : []),
  ].join('\n');
};

const describeTiles = ({
  share,
  seed,
  tiles,
  recomputed,
  bytes,
}: NonNullable<OutputVerification['againstInputs']>): string => {
  const amount = `${recomputed} of ${count(tiles, 'tile')} computed again from the inputs (${formatBytes(bytes)})`;
  return share === 1
    ? amount
    : `${amount}, by seed ${seed}: one that is wrong is found with a probability of ${Number((100 * share).toPrecision(3))} %`;
};
