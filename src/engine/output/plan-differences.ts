import type { FileIdentity } from '../../checkpoint/checkpoint.js';
import type { MergePlan } from '../../plan/plan.js';

/** What tells a file's content apart; links to it come and go. */
const contentOf = (file: FileIdentity | undefined) =>
  file === undefined ? undefined : { ...file, seen: file.seen?.hash };

/** In words, what keeps one plan from continuing what another began. None: it can. */
export const planDifferences = (former: MergePlan, plan: MergePlan): string[] => {
  const differs = (part: (plan: MergePlan) => unknown) =>
    JSON.stringify(part(former)) !== JSON.stringify(part(plan));
  if (former.layerloom !== plan.layerloom)
    return [`layerloom ${former.layerloom} began it and this is ${plan.layerloom}`];
  if (former.method !== plan.method) return [`it was a ${former.method}`];

  const differences: string[] = [];
  for (const key of new Set([...Object.keys(former.recipe), ...Object.keys(plan.recipe)]))
    if (differs(({ recipe }) => recipe[key]))
      differences.push(
        `${key} was ${JSON.stringify(former.recipe[key])} and is ${JSON.stringify(plan.recipe[key])}`,
      );
  if (differs(({ inputs }) => inputs.map(({ role, path }) => [role, path])))
    differences.push('it had other inputs');
  else
    for (const [index, { files }] of plan.inputs.entries())
      for (const [position, file] of files.entries())
        if (differs(({ inputs }) => contentOf(inputs[index]?.files[position])))
          differences.push(`${file.path} has changed`);
  if (differences.length === 0 && differs(({ shards }) => shards))
    differences.push('it laid out its shards otherwise');
  if (differences.length === 0 && differs(({ files }) => files)) differences.push('it had other side files');
  return differences;
};
