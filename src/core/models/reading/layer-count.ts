import { describeArchitecture } from '../architecture/architecture.js';
import { describingSections, OtherCount } from '../architecture/layer-settings/describing.js';
import { Unsaid } from '../architecture/layer-settings/traits/saying.js';
import { isKnownFamily } from '../architecture/ties.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { configName } from '../checkpoint/files/file-names.js';

/** Warns if a model of one stack has other layers than its configuration says. */
export const layerCountWarnings = (checkpoint: CheckpointIndex): string[] => {
  const { config, path } = checkpoint;
  if (config === undefined || !isKnownFamily(config)) return [];
  const { stacks, layers } = describeArchitecture(checkpoint);
  const [stack] = stacks;
  if (stack === undefined || stacks.length > 1) return [];
  try {
    describingSections(config, { stack, layers });
  } catch (error) {
    if (error instanceof OtherCount)
      return [
        `${path}: ${error.key} in ${configName} ${error.reason}: loaders make the layers that ${configName} says, missing ones of random numbers`,
      ];
    if (!(error instanceof Unsaid)) throw error;
  }
  return [];
};
