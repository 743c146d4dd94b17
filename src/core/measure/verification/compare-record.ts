import { isDeepStrictEqual } from 'node:util';
import { originsOf } from '../../engine/output/record/provenance.js';
import { provenanceName } from '../../models/checkpoint/files/file-names.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import type { MergePlan } from '../../plan/plan.js';
import type { VerifiedFile } from './verification.js';
import type { WrittenRecord } from './written-record.js';

export const editedRecord = ({ isSealed }: WrittenRecord): VerifiedFile[] =>
  isSealed === false ? [wrong(provenanceName, 'was edited since it was written')] : [];

/**
 * Returns an entry for the record if its methods, layers or models differ from those that its recipe plans.
 * Also returns an entry for each listed file that this merge does not write. Skips records of other versions.
 * Records without a SHA-256 of their own are older, and may lack keys.
 */
export const compareRecord = (record: WrittenRecord, plan: MergePlan): VerifiedFile[] => {
  const { content, files, layerloom, isSealed } = record;
  if (layerloom !== plan.layerloom) return [];
  const planned = {
    method: plan.method,
    architecture: plan.architecture,
    origins: originsOf(plan),
    inputs: plan.inputs.map(nameOf),
    shards: plan.shards.map(({ file }) => file),
  };
  const recorded = {
    ...content,
    inputs: listOf(content['inputs']).map(nameOf),
    shards: listOf(content['shards']).map(({ file }) => file),
  } as Readonly<Record<string, unknown>>;
  const other = Object.entries(planned).filter(
    ([key, value]) =>
      (isSealed !== undefined || key in recorded) &&
      !isDeepStrictEqual(JSON.parse(JSON.stringify(value)), recorded[key]),
  );
  const own = new Set([...plan.shards.map(({ file }) => file), ...plan.files.map(({ name }) => name)]);
  return [
    ...(other.length === 0
      ? []
      : [
          wrong(
            provenanceName,
            `says other ${other.map(([key]) => key).join(' and ')} than its recipe and the inputs give`,
          ),
        ]),
    ...files.flatMap(({ file }) =>
      own.has(file) ? [] : [wrong(file, `is in ${provenanceName}, and the recipe does not make it`)],
    ),
  ];
};

const listOf = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

const nameOf = ({ role, name }: { readonly role?: unknown; readonly name?: unknown }) => ({ role, name });

const wrong = (file: string, reason: string): VerifiedFile => ({
  ...{ file, bytes: null, reason },
  state: 'different',
});
