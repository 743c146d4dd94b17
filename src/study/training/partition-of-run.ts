import { basename } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { optionName } from '../../core/base/errors/option-name.js';
import { type Partition, partNames } from '../../core/measure/partition/partition.js';
import { readPartition } from '../../core/measure/partition/read-partition.js';
import { parseAddress } from '../../core/models/address/address.js';
import { readWhole } from '../../core/models/reading/read-model.js';

/**
 * Reads a run's partition and checks that it matches the base: by all parameter names if the base is local,
 * else by the base's name.
 *
 * @param base default: the partition's own
 * @throws READ_FAILED, PARTITION_INVALID, the codes of `readWhole`
 */
export const readPartitionOf = async (
  file: string,
  base: { readonly model: string; readonly isHere: boolean } | undefined,
): Promise<Partition> => {
  const partition = await readPartition(file);
  if (base === undefined) return partition;
  const foreign = (reason: string) =>
    new LayerloomError('PARTITION_INVALID', {
      file,
      reason: `is for ${partition.base.path}, not for ${base.model}: ${reason}`,
      remedy: `partition this base, or omit ${optionName('base')} to train the one that was partitioned`,
    });
  if (!base.isHere) {
    if (nameOf(base.model) !== nameOf(partition.base.name)) throw foreign('the names differ');
    return partition;
  }
  const { tensors } = await readWhole(await parseAddress(base.model));
  const names = partNames.flatMap((part) => partition.parts[part]);
  const absent = names.find((name) => !tensors.has(name));
  if (absent !== undefined) throw foreign(`${base.model} has no ${absent}`);
  const known = new Set(names);
  const unassigned = [...tensors.keys()].find((name) => !known.has(name));
  if (unassigned !== undefined) throw foreign(`${unassigned} is in no part`);
  return partition;
};

const nameOf = (model: string): string => basename(model).toLowerCase();
