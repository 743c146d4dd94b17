export const outputForms = ['adapter', 'full'] as const;

/** `adapter`: a LoRA adapter in PEFT's format; `full`: all weights. */
export type OutputForm = (typeof outputForms)[number];
