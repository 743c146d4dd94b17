import type { arceeFusion } from './arcee-fusion.js';
import type { breadcrumbs } from './breadcrumbs.js';
import type { breadcrumbsTies } from './breadcrumbs-ties.js';
import type { dareLinear } from './dare-linear.js';
import type { dareTies } from './dare-ties.js';
import type { della } from './della.js';
import type { dellaLinear } from './della-linear.js';
import type { FisherParameters } from './fisher.js';
import type { MethodParameters } from './framework/tensor-parameters.js';
import type { karcher } from './karcher.js';
import type { LayerSwapParameters, SwapOfParts } from './layer-swap.js';
import type { linear } from './linear.js';
import type { MixtureParameters } from './mixture.js';
import type { modelStock } from './model-stock.js';
import type { multislerp } from './multislerp.js';
import type { nearswap } from './nearswap.js';
import type { nuslerp } from './nuslerp.js';
import type { passthrough } from './passthrough.js';
import type { ram } from './ram.js';
import type { ramplusTl } from './ramplus-tl.js';
import type { RegmeanParameters } from './regmean.js';
import type { RelayoutParameters } from './relayout.js';
import type { RevertParameters } from './revert.js';
import type { sce } from './sce.js';
import type { slerp } from './slerp.js';
import type { SoupParameters } from './soup.js';
import type { taskArithmetic } from './task-arithmetic.js';
import type { ties } from './ties.js';
import type { TransplantParameters } from './transplant.js';

// Parameters hold models, and models may be recipes, which hold parameters: so this table adds to an
// interface that stands before the methods.
declare module './framework/recipe-input.js' {
  // methods/index.ts has the methods themselves, and does not compile unless both tables have the same names.
  interface RecipesByMethod {
    layer_swap: LayerSwapParameters | SwapOfParts;
    soup: SoupParameters;
    revert: RevertParameters;
    relayout: RelayoutParameters;
    linear: MethodParameters<typeof linear>;
    passthrough: MethodParameters<typeof passthrough>;
    slerp: MethodParameters<typeof slerp>;
    nuslerp: MethodParameters<typeof nuslerp>;
    multislerp: MethodParameters<typeof multislerp>;
    karcher: MethodParameters<typeof karcher>;
    task_arithmetic: MethodParameters<typeof taskArithmetic>;
    ties: MethodParameters<typeof ties>;
    dare_ties: MethodParameters<typeof dareTies>;
    dare_linear: MethodParameters<typeof dareLinear>;
    breadcrumbs: MethodParameters<typeof breadcrumbs>;
    breadcrumbs_ties: MethodParameters<typeof breadcrumbsTies>;
    della: MethodParameters<typeof della>;
    della_linear: MethodParameters<typeof dellaLinear>;
    model_stock: MethodParameters<typeof modelStock>;
    sce: MethodParameters<typeof sce>;
    nearswap: MethodParameters<typeof nearswap>;
    ram: MethodParameters<typeof ram>;
    ramplus_tl: MethodParameters<typeof ramplusTl>;
    arcee_fusion: MethodParameters<typeof arceeFusion>;
    fisher: FisherParameters;
    regmean: RegmeanParameters;
    mixture: MixtureParameters;
    transplant: TransplantParameters;
  }
}

export type { ArceeFusionParameters } from './arcee-fusion.js';
export type { BreadcrumbsParameters } from './breadcrumbs.js';
export type { BreadcrumbsTiesParameters } from './breadcrumbs-ties.js';
export type { DareLinearParameters } from './dare-linear.js';
export type { DareTiesParameters } from './dare-ties.js';
export type { DellaParameters } from './della.js';
export type { DellaLinearParameters } from './della-linear.js';
export type { FisherParameters } from './fisher.js';
export type { PartParameters } from './framework/parts.js';
export type * from './framework/recipe-input.js';
export type { TensorParts } from './framework/tensor-parts.js';
export type { KarcherParameters } from './karcher.js';
export type { LayerSwapParameters, SwapOfParts } from './layer-swap.js';
export type { LinearParameters } from './linear.js';
export type { MixtureExpert, MixtureParameters } from './mixture.js';
export type { ModelStockParameters } from './model-stock.js';
export type { MultislerpParameters } from './multislerp.js';
export type { NearswapParameters } from './nearswap.js';
export type { NuslerpParameters } from './nuslerp.js';
export type { PassthroughParameters } from './passthrough.js';
export type { RamParameters } from './ram.js';
export type { RamplusTlParameters } from './ramplus-tl.js';
export type { RegmeanParameters } from './regmean.js';
export type { RelayoutParameters } from './relayout.js';
export type { RevertParameters } from './revert.js';
export type { SceParameters } from './sce.js';
export type { SlerpParameters } from './slerp.js';
export type { SoupParameters } from './soup.js';
export type { TaskArithmeticParameters } from './task-arithmetic.js';
export type { TiesParameters } from './ties.js';
export type { TransplantParameters } from './transplant.js';
