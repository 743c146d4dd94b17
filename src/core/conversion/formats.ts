export const exportFormats = ['gguf'] as const;
