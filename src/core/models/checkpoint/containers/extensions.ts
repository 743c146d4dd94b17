/** Weight files' extensions, by format; apart from the readers, which import files/small-file.ts. */
export const extensions = {
  safetensors: '.safetensors',
  torch: '.bin',
  bareTorch: ['.pt', '.pth'],
  deepspeed: '_states.pt',
  gguf: '.gguf',
  distributed: '.distcp',
} as const;
