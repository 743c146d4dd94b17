import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import { readAnalysedExpert } from '../core/measure/partition/analysed-expert.js';
import type { PartitionFormat } from '../core/measure/partition/formats/names.js';
import { type Granularity, granularities, type Partition } from '../core/measure/partition/partition.js';
import { type PartitionByLocation, partitionOf } from '../core/measure/partition/partition-of.js';
import { checkFormats, writePartition } from '../core/measure/partition/write-partition.js';
import { parseAddress } from '../core/models/address/address.js';
import { describeArchitecture } from '../core/models/architecture/architecture.js';
import { readWhole } from '../core/models/reading/read-model.js';
import { bringModels } from '../core/models/sources/bring-models.js';

/** How to divide a model's parameters: by location, or by an analysis. */
export interface PartitionParameters extends PartitionByLocation {
  /** Directory of `analyze`, instead of counts: each parameter goes to the expert that changed it more. */
  from?: string | undefined;
  /** Language expert in the analysis: its name there, or the model. Required with `from`. */
  language?: string | undefined;
  /** Task expert in the analysis, in the same form. Required with `from`. */
  task?: string | undefined;
  /** Unit in which an analysis assigns parameters; default `module`. */
  granularity?: Granularity | undefined;
  /**
   * Stack of layers, if there are several: `encoder`, `decoder`, or the name prefix before layer numbers. The
   * layers of other stacks count as outside.
   */
  stack?: string | undefined;
}

/** Options of `partition` that do not change its result. */
export interface PartitionOptions {
  /** File `….json`, or a directory for `partition.json` and the formats' files; default: write nothing. */
  out?: string | undefined;
  /** Formats to write to the directory; default: all that can express the partition. */
  formats?: readonly PartitionFormat[] | undefined;
  /** Replace existing files; default false. */
  force?: boolean | undefined;
  /** Fetch missing headers from the hub; default false. */
  download?: boolean | undefined;
}

/** Partition, its files, and warnings about formats that cannot express it. */
export interface PartitionResult {
  readonly partition: Partition;
  /** Absolute paths of written files. */
  readonly files: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Divides the parameters of a base between a language and a task, for modular fine-tuning (the follow-up of
 * the layer-swapping paper, arXiv 2505.18356): by location as in a layer swap, or by which of two experts
 * changed them more. Each parameter is in exactly one part. Reads only headers.
 *
 * @example const { partition: found } = await partition('./llama-3.1-8b', { bottom: 5, top: 2 }, { out: './parts' })
 * @param base a directory, a file of weights, `org/name[@revision]` in the hub cache, or `NAME=MODEL`
 * @throws LayerloomError INVALID_PARAMETER, TOO_MANY_LAYERS, NO_LAYERS, STACKS_AMBIGUOUS, LAYER_MISSING,
 * PARTITION_INVALID, PARTITION_UNSUPPORTED, READ_FAILED, VECTORS_INVALID, OUTPUT_EXISTS, WRITE_FAILED, the
 * codes of `readWhole`
 */
export const partition = async (
  base: string,
  parameters: PartitionParameters = {},
  { out, formats, force = false, download = false }: PartitionOptions = {},
): Promise<PartitionResult> => {
  check(parameters);
  checkFormats(formats, out);
  const fetched = await bringModels([base], { download: download ? 'headers' : false });
  const checkpoint = await readWhole(await parseAddress(base));
  const { from, language, task, granularity, stack, ...location } = parameters;
  const opened = { checkpoint, architecture: describeArchitecture(checkpoint, stack) };
  const { others, norms } = location;
  const found =
    from === undefined
      ? partitionOf(opened, location)
      : partitionOf(opened, {
          experts: {
            language: await readAnalysedExpert(from, String(language), checkpoint),
            task: await readAnalysedExpert(from, String(task), checkpoint),
          },
          granularity,
          others,
          norms,
        });
  const written =
    out === undefined ? { files: [], warnings: [] } : await writePartition(found, out, formats, force);
  return {
    partition: found,
    files: written.files,
    warnings: [...fetched, ...checkpoint.warnings, ...written.warnings],
  };
};

const check = ({ from, language, task, granularity, bottom, top, scaled }: PartitionParameters): void => {
  if (granularity !== undefined && !granularities.includes(granularity))
    throw invalidParameter('granularity', granularity, granularities.join(', '));
  if (from === undefined) {
    for (const [name, value] of Object.entries({ language, task, granularity }))
      if (value !== undefined)
        throw invalidParameter(name, value, 'no value without from, the directory of an analysis');
    return;
  }
  for (const [name, value] of Object.entries({ bottom, top, scaled }))
    if (value !== undefined)
      throw invalidParameter(name, value, 'no value together with from: the analysis decides instead');
  for (const [name, value] of Object.entries({ language, task }))
    if (value === undefined || value === '')
      throw invalidParameter(name, null, `the name of the ${name} expert in the analysis`);
};
