/** `fused`: a layer's experts in one parameter, as in transformers 5. `separate`: each expert has its own. */
export const expertForms = ['fused', 'separate'] as const;

export type ExpertForm = (typeof expertForms)[number];
