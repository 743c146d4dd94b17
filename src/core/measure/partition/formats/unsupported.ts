import { LayerloomError } from '../../../base/errors/errors.js';
import { type Partition, type Side, trainedBy } from '../partition.js';

export const unsupported = (format: string, what: string, remedy: string): LayerloomError =>
  new LayerloomError('PARTITION_UNSUPPORTED', { format, what, remedy });

/** @throws PARTITION_UNSUPPORTED if the side trains nothing: with no name to unfreeze, trainers train all */
export const someTrainedBy = (partition: Partition, side: Side, format: string): readonly string[] => {
  const trained = trainedBy(partition, side);
  if (trained.length === 0)
    throw unsupported(format, `that the ${side} trains nothing`, `give the ${side} layers or tensors`);
  return trained;
};
