/** `fused`: the experts of a layer in one parameter, as transformers 5 holds them. `separate`: each by itself. */
export const expertForms = ['fused', 'separate'] as const;

/** The form in which files have the experts of mixtures. */
export type ExpertForm = (typeof expertForms)[number];
