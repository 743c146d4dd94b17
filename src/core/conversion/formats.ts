/** Formats that checkpoints are exported to. */
export const exportFormats = ['gguf'] as const;
