import { LayerloomError } from '../base/errors/errors.js';
import { fisher } from './averages/fisher.js';
import { karcher } from './averages/karcher.js';
import { linear } from './averages/linear.js';
import { modelStock } from './averages/model-stock.js';
import { multislerp } from './averages/multislerp.js';
import { nearswap } from './averages/nearswap.js';
import { nuslerp } from './averages/nuslerp.js';
import { regmean } from './averages/regmean.js';
import { slerp } from './averages/slerp.js';
import { soup } from './averages/soup.js';
import type { Method } from './framework/declaration/method.js';
import { type GramRule, registerRule } from './operations/program/rules.js';
import type { RecipesByMethod } from './recipes.js';
import { layerSwap } from './swaps/layer-swap.js';
import { mixture } from './swaps/mixture.js';
import { passthrough } from './swaps/passthrough.js';
import { relayout } from './swaps/relayout.js';
import { revert } from './swaps/revert.js';
import { transplant } from './swaps/transplant.js';
import { arceeFusion } from './vectors/arcee-fusion.js';
import { breadcrumbs } from './vectors/breadcrumbs.js';
import { breadcrumbsTies } from './vectors/breadcrumbs-ties.js';
import { dareLinear } from './vectors/dare-linear.js';
import { dareTies } from './vectors/dare-ties.js';
import { della } from './vectors/della.js';
import { dellaLinear } from './vectors/della-linear.js';
import { isoC } from './vectors/iso-c.js';
import { ram } from './vectors/ram.js';
import { ramplusTl } from './vectors/ramplus-tl.js';
import { sce } from './vectors/sce.js';
import { taskArithmetic } from './vectors/task-arithmetic.js';
import { ties } from './vectors/ties.js';
import { tsvM } from './vectors/tsv-m.js';

const builtIn = {
  layer_swap: () => layerSwap,
  soup: () => soup,
  revert: () => revert,
  relayout: () => relayout,
  linear: () => linear,
  passthrough: () => passthrough,
  slerp: () => slerp,
  nuslerp: () => nuslerp,
  multislerp: () => multislerp,
  karcher: () => karcher,
  task_arithmetic: () => taskArithmetic,
  ties: () => ties,
  dare_ties: () => dareTies,
  dare_linear: () => dareLinear,
  breadcrumbs: () => breadcrumbs,
  breadcrumbs_ties: () => breadcrumbsTies,
  della: () => della,
  della_linear: () => dellaLinear,
  model_stock: () => modelStock,
  sce: () => sce,
  nearswap: () => nearswap,
  ram: () => ram,
  ramplus_tl: () => ramplusTl,
  arcee_fusion: () => arceeFusion,
  fisher: () => fisher,
  regmean: () => regmean,
  iso_c: () => isoC,
  tsv_m: () => tsvM,
  mixture: () => mixture,
  transplant: () => transplant,
} satisfies Record<keyof RecipesByMethod, () => { readonly name: string }>;

export const isBuiltIn = (name: string): name is keyof typeof builtIn => Object.hasOwn(builtIn, name);

/** Loads built-in methods when they are read, because a command needs few of them. */
class Methods extends Map<string, Method<never>> {
  constructor() {
    super();
    for (const name of Object.keys(builtIn)) this.set(name, undefined as never);
  }

  override get(name: string): Method<never> | undefined {
    const found = super.get(name);
    if (found !== undefined || !isBuiltIn(name)) return found;
    const method = builtIn[name]() as unknown as Method<never>;
    this.set(name, method);
    return method;
  }

  override entries(): MapIterator<[string, Method<never>]> {
    for (const name of this.keys()) this.get(name);
    return super.entries();
  }

  override [Symbol.iterator](): MapIterator<[string, Method<never>]> {
    return this.entries();
  }

  override *values(): MapIterator<Method<never>> {
    for (const [, method] of this) yield method;
  }

  override forEach(work: (method: Method<never>, name: string, methods: this) => void): void {
    for (const [name, method] of this) work(method, name, this);
  }
}

const registered = new Methods();

/** All methods, by the names that recipes use. */
export const methods: ReadonlyMap<string, Method<never>> = registered;

/**
 * Registers a method for recipes of this process (docs/methods.md).
 *
 * @param rules for the method's `gram` formulas
 * @throws USAGE if a name is taken
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
