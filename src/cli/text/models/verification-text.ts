import { optionName } from '../../../core/base/errors/option-name.js';
import { visibleLine } from '../../../core/base/errors/visible.js';
import { counted, formatBytes } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import type { OutputVerification, VerifiedFile } from '../../../core/measure/verification/verification.js';
import { signerText } from './signer-text.js';

const mostNames = 8;

const listed = (names: readonly string[]): string => {
  const shown = names.slice(0, mostNames).map(visibleLine).join(', ');
  return names.length <= mostNames ? shown : `${shown}, … (${names.length} in all)`;
};

export const describeOutput = (found: OutputVerification): string => {
  const { out, layerloom, structure, files, unlisted, againstInputs } = found;
  const of = (state: VerifiedFile['state']) => files.filter((file) => file.state === state);
  const [equal, edited] = [of('equal'), of('edited')];
  const wrong = [...of('different'), ...of('missing')];
  const allowed = unlisted.filter((name) => !wrong.some(({ file }) => file === name));
  return [
    `${out}: ${verdictOf(found)}`,
    `${counted(files.length, 'file')}, ${layerloom === null ? 'with no record' : `written by layerloom ${layerloom}`}`,
    ...(structure === null ? [] : [`it cannot be opened: ${structure}`]),
    ...(equal.length > 0 ? [`${counted(equal.length, 'file')} as written`] : []),
    ...describeUnrecorded(of('unrecorded'), againstInputs !== null),
    ...(edited.length > 0 ? [`edited since: ${listed(edited.map(({ file }) => file))}`] : []),
    ...describeProof(found),
    ...(allowed.length > 0 ? [`added since, and read by no loader: ${listed(allowed)}`] : []),
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

const verdictOf = ({ verdict, againstInputs }: OutputVerification): string => {
  if (verdict !== 'intact-by-size') return verdict;
  return againstInputs === null
    ? 'intact by size; contents not checked'
    : `intact by size; ${shareOf(againstInputs)} of the weights checked`;
};

const describeUnrecorded = (files: readonly VerifiedFile[], isSample: boolean): string[] => {
  const named = files.filter(({ reason }) => reason !== undefined);
  const sized = files.length - named.length;
  const compares = `${optionName('againstInputs')} compares their contents`;
  return [
    ...(sized === 0
      ? []
      : [
          isSample
            ? `${counted(sized, 'file')} compared by size and in the sample`
            : `${counted(sized, 'file')} of the recorded size; the merge did not record their SHA-256: ${compares}`,
        ]),
    ...(named.length === 0
      ? []
      : [
          `${counted(named.length, 'file')} recorded by name only (${listed(named.map(({ file }) => file))}): ${compares}`,
        ]),
  ];
};

type Tiles = NonNullable<OutputVerification['againstInputs']>;

/** Describes what valid statements and signatures prove. Damage is listed by file. */
const describeProof = ({ statement, signature }: OutputVerification): string[] => [
  ...(statement?.valid
    ? [
        `${statement.file} states these weights (tensors ${statement.tensors?.slice(0, 12)}…), this recipe and ${counted(statement.inputs, 'input file')}`,
      ]
    : []),
  ...(signature?.valid
    ? [`${signature.file}: ${counted(signature.files, 'file')} signed by ${signerText(signature, 12)}`]
    : []),
];

const shareOf = ({ share }: Tiles): string => `${Number((100 * share).toPrecision(3))} %`;

const describeTiles = (found: Tiles): string => {
  const { share, seed, tiles, recomputed, bytes } = found;
  const amount = `${recomputed} of ${counted(tiles, 'tile')} recomputed from the inputs (${formatBytes(bytes)})`;
  return share === 1
    ? amount
    : `${amount}, chosen by seed ${seed}: a wrong tile is found with a probability of ${shareOf(found)}`;
};
