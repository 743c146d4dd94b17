import { basename } from 'node:path';
import { visibleLine } from '../../../core/base/errors/visible.js';
import { counted, formatBytes, formatCount } from '../../../core/base/format.js';
import { joinRuns, plainTable, shardRows } from '../../../core/base/table.js';
import { type Architecture, describeArchitecture } from '../../../core/models/architecture/architecture.js';
import type { CheckpointIndex } from '../../../core/models/checkpoint/checkpoint.js';
import { elementsOf, storedBytes, type TensorReference } from '../../../core/tensor/reference.js';
import { columns } from '../../print.js';

export interface Totals {
  readonly tensors: number;
  readonly parameters: number;
  readonly bytes: number;
}

export interface CheckpointSummary extends Totals {
  readonly name: string;
  readonly path: string;
  readonly architecture: {
    readonly family: string;
    readonly naming: Architecture['naming'];
    readonly layers: number;
    readonly stacks: readonly string[];
    readonly tied: boolean | undefined;
    readonly known: boolean;
    readonly unrecognised: readonly string[];
  };
  readonly dtypes: Readonly<Record<string, Totals>>;
  readonly shards: readonly { readonly file: string; readonly bytes: number; readonly tensors: number }[];
  readonly layers: readonly (Totals & { readonly layer: number })[];
  readonly outside: Readonly<Record<string, Totals>>;
  readonly sideFiles: readonly string[];
  readonly unread: readonly string[];
  readonly warnings: readonly string[];
}

const totalsBy = <Key>(entries: Iterable<readonly [Key, TensorReference]>): Map<Key, Totals> => {
  const sums = new Map<Key, { tensors: number; parameters: number; bytes: number }>();
  for (const [key, reference] of entries) {
    const sum = sums.get(key) ?? { tensors: 0, parameters: 0, bytes: 0 };
    sum.tensors += 1;
    sum.parameters += elementsOf(reference.shape);
    sum.bytes += storedBytes(reference);
    sums.set(key, sum);
  }
  return sums;
};

const none: Totals = { tensors: 0, parameters: 0, bytes: 0 };

export const summariseCheckpoint = (checkpoint: CheckpointIndex): CheckpointSummary => {
  const { name, path, files, tensors, sideFiles, unread = [], warnings } = checkpoint;
  const { places, family, naming, layers, stacks, tied, unrecognised } = describeArchitecture(checkpoint);
  const references = [...tensors.values()];
  const placed = [...tensors].map(([tensor, reference]) => [places.get(tensor), reference] as const);
  const byFile = totalsBy(references.map((reference) => [reference.file, reference]));
  return {
    name,
    path,
    architecture: { family, naming, layers, stacks, tied, known: unrecognised.length === 0, unrecognised },
    ...(totalsBy(references.map((reference) => ['all', reference])).get('all') ?? none),
    dtypes: Object.fromEntries(totalsBy(references.map((reference) => [reference.dtype, reference]))),
    shards: files.map((file, index) => ({
      file: basename(file.path),
      bytes: file.bytes,
      tensors: byFile.get(index)?.tensors ?? 0,
    })),
    layers: [
      ...totalsBy(
        placed.flatMap(([place, reference]) =>
          place?.layer === undefined ? [] : [[place.layer, reference] as const],
        ),
      ),
    ]
      .sort(([a], [b]) => a - b)
      .map(([layer, sum]) => ({ layer, ...sum })),
    outside: Object.fromEntries(
      totalsBy(
        placed.flatMap(([place, reference]) =>
          place === undefined || place.layer !== undefined ? [] : [[place.role, reference] as const],
        ),
      ),
    ),
    sideFiles,
    unread,
    warnings,
  };
};

const sizes = ({ tensors, parameters, bytes }: Totals): string[] => [
  counted(tensors, 'tensor'),
  formatCount(parameters),
  formatBytes(bytes),
];

const layerRows = (layers: CheckpointSummary['layers']): string[][] =>
  joinRuns(
    layers,
    ({ tensors, bytes }) => `${tensors} ${bytes}`,
    (first, last) => [
      first === last ? `layer ${first.layer}` : `layers ${first.layer}–${last.layer}, each`,
      ...sizes(first),
    ],
  );

export const describeCheckpoint = (summary: CheckpointSummary): string => {
  const { architecture, dtypes, shards, layers, outside, sideFiles, unread } = summary;
  const known = architecture.known
    ? ''
    : ` (unknown to layerloom: ${counted(architecture.unrecognised.length, 'tensor')} such as ${architecture.unrecognised[0]})`;
  return [
    visibleLine(summary.path),
    '',
    plainTable([
      ['architecture', `${architecture.family}${known}`],
      [
        'layers',
        `${architecture.layers}${architecture.stacks.length > 0 ? `, named ${architecture.stacks.join(' and ')}.N` : ''}`,
      ],
      ['names', architecture.naming === 'meta' ? 'Meta' : 'Hugging Face'],
      ['head', describeTying(architecture.tied)],
      ['parameters', formatCount(summary.parameters)],
      ['size', formatBytes(summary.bytes)],
    ]),
    '',
    plainTable(
      [
        ...Object.entries(dtypes).map(([dtype, sum]) => [dtype, ...sizes(sum)]),
        ...layerRows(layers),
        ...Object.entries(outside).map(([role, sum]) => [roleNames[role] ?? role, ...sizes(sum)]),
      ],
      1,
    ),
    '',
    plainTable(shardRows(shards, formatBytes), 1, columns()),
    ...(sideFiles.length === 0 ? [] : ['', `  other files: ${visibleLine(sideFiles.join(', '))}`]),
    ...(unread.length === 0 ? [] : ['', `  weights that are not read: ${visibleLine(unread.join(', '))}`]),
  ].join('\n');
};

const describeTying = (tied: boolean | undefined): string =>
  tied === undefined
    ? "the model's class decides whether there is one, and whether it is tied to the embeddings"
    : tied
      ? 'tied to the embeddings'
      : 'not tied';

const roleNames: Readonly<Record<string, string>> = {
  embedding: 'embeddings',
  finalNorm: 'final norm',
  head: 'head',
};
