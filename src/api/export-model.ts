import type { ExportedModel, ModelExportOptions } from '../core/conversion/export-model.js';

/**
 * Exports a checkpoint to a GGUF file for llama.cpp and Ollama, by llama.cpp's own converter and, for types that it does not
 * write, llama-quantize. Llama.cpp loads the file once, where a program of it is found. A Modelfile is written beside it. The
 * output is there whole or not at all.
 *
 * @example await exportModel('./merged', { to: 'gguf', type: 'q4_k_m' })
 * @param directory of the checkpoint
 * @throws LayerloomError INVALID_PARAMETER, PROGRAM_MISSING, EXPORT_FAILED, NOT_A_CHECKPOINT and the codes of opening, an
 *   OUTPUT_… code, DISK_SPACE, WRITE_FAILED, INTERRUPTED
 */
export const exportModel = async (directory: string, options: ModelExportOptions): Promise<ExportedModel> => {
  // Loaded on demand: nothing else runs these programs.
  const conversion = await import('../core/conversion/export-model.js');
  return await conversion.exportModel(directory, options);
};
