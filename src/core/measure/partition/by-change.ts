import { LayerloomError } from '../../base/errors/errors.js';
import { groupBy, itemAt, ownValue, valueAt } from '../../base/errors/lookup.js';
import { meanMavOf } from '../../methods/framework/declaration/parameters.js';
import type { Place } from '../../models/architecture/architecture.js';
import type { AnalysedExpert } from './analysed-expert.js';
import type { Granularity, PartitionBase, Side } from './partition.js';

interface Experts {
  readonly language: AnalysedExpert;
  readonly task: AnalysedExpert;
}

/**
 * Returns a function that tells which expert changed a parameter more. Compares mean MAVs over the rows of
 * the parameter's unit (tensor, module or layer). Each is divided by the expert's mean over all units, so
 * that a larger learning rate does not decide. Ties go to the task. A unit that the analysis lacks, such as a
 * 3-D tensor, follows its layer.
 *
 * @param isFree true for parameters outside the layers, which form modules even if units are layers
 * @throws PARTITION_INVALID for an expert that equals the base
 */
export const byChange = (
  { checkpoint, architecture: { places } }: PartitionBase,
  experts: Experts,
  granularity: Granularity,
  isFree: (place: Place) => boolean,
): ((name: string) => Side) => {
  const means = { language: overallMean(experts.language), task: overallMean(experts.task) };
  const unitOf = (name: string): string => {
    const place = valueAt(places, name);
    if (granularity === 'tensor') return name;
    return granularity === 'layer' && !isFree(place) ? layerKey(place) : moduleKey(name);
  };
  const names = [...checkpoint.tensors.keys()];
  const units = groupBy(names, unitOf);
  const layers = groupBy(
    names.filter((name) => valueAt(places, name).layer !== undefined),
    (name) => layerKey(valueAt(places, name)),
  );
  const relative = (expert: AnalysedExpert, mean: number, members: readonly string[]): number | undefined => {
    const measured = members.flatMap((name) => ownValue(expert.tensors, name) ?? []);
    return measured.length === 0 ? undefined : meanMavOf(measured) / mean;
  };
  const isMoreOf = (members: readonly string[]): Side | undefined => {
    const language = relative(experts.language, means.language, members);
    const task = relative(experts.task, means.task, members);
    if (language === undefined || task === undefined) return undefined;
    return language > task ? 'language' : 'task';
  };
  const sidesOf = (groups: ReadonlyMap<string, readonly string[]>) =>
    new Map([...groups].map(([key, members]) => [key, isMoreOf(members)]));
  const [ofUnits, ofLayers] = [sidesOf(units), sidesOf(layers)];
  return (name) => {
    const place = valueAt(places, name);
    const ofLayer = place.layer === undefined ? undefined : ofLayers.get(layerKey(place));
    return ofUnits.get(unitOf(name)) ?? ofLayer ?? 'task';
  };
};

const layerKey = ({ layer }: Place): string => `layer ${layer}`;

const moduleKey = (name: string): string => {
  const parts = name.split('.');
  return parts.length === 1 ? itemAt(parts, 0) : parts.slice(0, -1).join('.');
};

const overallMean = ({ file, name, tensors }: AnalysedExpert): number => {
  const mean = meanMavOf(Object.values(tensors));
  if (!(mean > 0))
    throw new LayerloomError('PARTITION_INVALID', {
      file,
      reason: `${name} equals its base, so that it changed no parameter more than another`,
      remedy: 'name an expert that was trained',
    });
  return mean;
};
