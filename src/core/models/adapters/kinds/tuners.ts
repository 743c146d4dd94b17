import { adalora } from './adalora.js';
import { boft } from './boft.js';
import { hra } from './hra.js';
import { ia3 } from './ia3.js';
import { lnTuning } from './ln-tuning.js';
import { loha } from './loha.js';
import { lokr } from './lokr.js';
import { oft } from './oft.js';
import { tokens } from './tokens.js';
import type { Tuner } from './tuner.js';
import { vera } from './vera.js';

/** Kinds that a `peft_type` selects. */
export const tuners: readonly Tuner[] = [adalora, boft, hra, ia3, lnTuning, loha, lokr, oft, tokens, vera];
