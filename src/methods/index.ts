import { LayerloomError } from '../base/errors.js';
import { type GramRule, registerRule } from '../operations/rules.js';
import { arceeFusion } from './arcee-fusion.js';
import { breadcrumbs } from './breadcrumbs.js';
import { breadcrumbsTies } from './breadcrumbs-ties.js';
import { dareLinear } from './dare-linear.js';
import { dareTies } from './dare-ties.js';
import { della } from './della.js';
import { dellaLinear } from './della-linear.js';
import { fisher } from './fisher.js';
import type { Method } from './framework/method.js';
import { isoC } from './iso-c.js';
import { karcher } from './karcher.js';
import { layerSwap } from './layer-swap.js';
import { linear } from './linear.js';
import { mixture } from './mixture.js';
import { modelStock } from './model-stock.js';
import { multislerp } from './multislerp.js';
import { nearswap } from './nearswap.js';
import { nuslerp } from './nuslerp.js';
import { passthrough } from './passthrough.js';
import { ram } from './ram.js';
import { ramplusTl } from './ramplus-tl.js';
import type { RecipesByMethod } from './recipes.js';
import { regmean } from './regmean.js';
import { relayout } from './relayout.js';
import { revert } from './revert.js';
import { sce } from './sce.js';
import { slerp } from './slerp.js';
import { soup } from './soup.js';
import { taskArithmetic } from './task-arithmetic.js';
import { ties } from './ties.js';
import { transplant } from './transplant.js';
import { tsvM } from './tsv-m.js';

const registered = new Map<string, Method<never>>();

/** Every method, by the name recipes use. */
export const methods: ReadonlyMap<string, Method<never>> = registered;

/**
 * Makes a method known to recipes of this process (docs/methods.md).
 *
 * @param rules rules that its `gram` formulas name
 * @throws LayerloomError USAGE where the name of the method or of a rule is taken
 */
export const registerMethod = <Parameters>(
  method: Method<Parameters>,
  { rules = {} }: { rules?: Readonly<Record<string, GramRule>> } = {},
): void => {
  if (!/^[a-z][a-z0-9_]*$/.test(method.name))
    throw new LayerloomError('USAGE', {
      reason: `a method's name is in snake_case, and ${method.name} is not`,
    });
  if (registered.has(method.name))
    throw new LayerloomError('USAGE', { reason: `there is a method ${method.name} already` });
  for (const [name, rule] of Object.entries(rules)) registerRule(name, rule);
  registered.set(method.name, method as unknown as Method<never>);
};

const known = {
  layer_swap: layerSwap,
  soup,
  revert,
  relayout,
  linear,
  passthrough,
  slerp,
  nuslerp,
  multislerp,
  karcher,
  task_arithmetic: taskArithmetic,
  ties,
  dare_ties: dareTies,
  dare_linear: dareLinear,
  breadcrumbs,
  breadcrumbs_ties: breadcrumbsTies,
  della,
  della_linear: dellaLinear,
  model_stock: modelStock,
  sce,
  nearswap,
  ram,
  ramplus_tl: ramplusTl,
  arcee_fusion: arceeFusion,
  fisher,
  regmean,
  iso_c: isoC,
  tsv_m: tsvM,
  mixture,
  transplant,
} satisfies Record<keyof RecipesByMethod, { readonly name: string }>;

/** True for a method that comes with layerloom, and not from a module that registered it. */
export const isBuiltIn = (name: string): boolean => Object.hasOwn(known, name);

for (const method of Object.values(known)) registerMethod(method as unknown as Method<never>);
