/**
 * `fused`: a layer's experts share one parameter, as in transformers 5. `separate`: each expert has its own parameters.
 */
export const expertLayouts = ['fused', 'separate'] as const;

export type ExpertLayout = (typeof expertLayouts)[number];
