// @ts-check
// The recipe of each method that is timed, in mergekit's dialect, which layerloom reads too.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Lines of a recipe. `experts` is how many it takes; `base` if it has one. @typedef {{ experts: number, base: boolean, parameters?: string, each?: string }} Job */
/** Methods of mergekit and layerloom. @type {Record<string, Job>} */
export const methodJobs = {
  passthrough: { experts: 1, base: false },
  linear: { experts: 2, base: false, each: 'weight: 0.5' },
  slerp: { experts: 1, base: true, parameters: 't: 0.4' },
  nuslerp: { experts: 2, base: false, each: 'weight: 0.5' },
  multislerp: { experts: 2, base: true, each: 'weight: 0.5' },
  karcher: { experts: 2, base: false },
  nearswap: { experts: 1, base: true, parameters: 't: 0.001' },
  task_arithmetic: { experts: 2, base: true, each: 'weight: 0.5' },
  ties: { experts: 2, base: true, each: 'weight: 0.5, density: 0.45' },
  breadcrumbs: { experts: 2, base: true, each: 'weight: 0.5, density: 0.45, gamma: 0.01' },
  breadcrumbs_ties: { experts: 2, base: true, each: 'weight: 0.5, density: 0.45, gamma: 0.01' },
  dare_linear: { experts: 2, base: true, each: 'weight: 0.5, density: 0.5' },
  dare_ties: { experts: 2, base: true, each: 'weight: 0.5, density: 0.5' },
  della_linear: { experts: 2, base: true, each: 'weight: 0.5, density: 0.45, epsilon: 0.2' },
  della: { experts: 2, base: true, each: 'weight: 0.5, density: 0.45, epsilon: 0.2' },
  model_stock: { experts: 2, base: true },
  sce: { experts: 2, base: true, parameters: 'select_topk: 0.5' },
  ram: { experts: 2, base: true, parameters: 'epsilon: 0.001' },
  ramplus_tl: { experts: 2, base: true, parameters: 'epsilon: 0.001' },
  arcee_fusion: { experts: 1, base: true },
};

/**
 * Writes a recipe that both tools read.
 *
 * @param {string} folder @param {string} name @param {Job} job @param {string[]} models the base first
 */
export const writeRecipe = (folder, name, { base, parameters, each }, [first = '', ...experts]) => {
  const path = join(folder, `${name}.yaml`);
  const lines = experts.flatMap((model) => [
    `  - model: ${model}`,
    ...(each === undefined ? [] : [`    parameters: { ${each} }`]),
  ]);
  const of = [
    `merge_method: ${name}`,
    'dtype: bfloat16',
    ...(base ? [`base_model: ${first}`] : []),
    'models:',
    ...lines,
    ...(parameters === undefined ? [] : [`parameters: { ${parameters} }`]),
  ];
  writeFileSync(path, `${of.join('\n')}\n`);
  return path;
};
