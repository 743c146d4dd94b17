import type { ExportedModel, ModelExportOptions } from '../core/conversion/export-model.js';

/**
 * Exports a checkpoint to a GGUF file for llama.cpp and Ollama. Uses llama.cpp's converter, and
 * llama-quantize for types that the converter cannot write. Writes a Modelfile beside it. If a llama.cpp
 * program is found, it loads the file as a test. The output is either complete or absent.
 *
 * @example await exportModel('./merged', { to: 'gguf', type: 'q4_k_m' })
 * @param directory of the checkpoint
 * @throws LayerloomError INVALID_PARAMETER, PROGRAM_MISSING, EXPORT_FAILED, NOT_A_CHECKPOINT and the codes of
 *   opening, an OUTPUT_… code, DISK_SPACE, WRITE_FAILED, INTERRUPTED
 */
export const exportModel = async (directory: string, options: ModelExportOptions): Promise<ExportedModel> => {
  const conversion = await import('../core/conversion/export-model.js');
  return await conversion.exportModel(directory, options);
};
