import { methodsInSchema } from './schema.js';

/** Names of commands in other programs, by our command. */
const meant: Readonly<Record<string, readonly string[]>> = {
  swap: ['layer-swap', 'layer-swapping', 'exchange', 'graft', 'stitch'],
  soup: ['average', 'avg', 'mean', 'blend', 'ensemble', 'greedy-soup'],
  merge: [...['run', 'mix', 'fuse', 'combine', 'yaml', 'mergekit', 'mergekit-yaml', 'mergekit-moe', 'moe']],
  apply: ['merge-lora', 'merge-adapter', 'merge-and-unload', 'bake'],
  'extract-lora': ['lora', 'lora-extract', 'extract-adapter', 'mergekit-extract-lora'],
  transplant: ['tokensurgeon', 'mergekit-tokensurgeon', 'retokenize'],
  relayout: ['reshard', 'quantize', 'quantise', 'shard'],
  export: ['convert', 'gguf', 'to-gguf'],
  analyze: ['analysis', 'plot', 'visualize', 'visualise', 'heatmap', 'stats'],
  inspect: ['info', 'show', 'describe', 'ls', 'list', 'cat', 'view', 'layers'],
  diff: ['compare', 'cmp'],
  suggest: ['advise', 'advice', 'recommend', 'propose', 'choose', 'choose-layers'],
  verify: ['check', 'validate', 'checksum', 'sha256', 'test'],
  attest: ['sign', 'provenance', 'attestation', 'slsa', 'in-toto'],
  chain: ['lineage', 'ancestors', 'history', 'tree'],
  evaluate: ['score', 'scores', 'benchmark', 'bench', 'lm-eval'],
  try: ['chat', 'generate', 'ask', 'prompt', 'infer', 'sample'],
  table: ['results', 'leaderboard'],
  report: ['html', 'page'],
  batch: ['sweep', 'grid', 'experiment run', 'experiment batch'],
  search: ['optimize', 'optimise', 'tune', 'evolve', 'mergekit-evolve'],
  push: ['upload', 'publish', 'share'],
  doctor: ['health', 'debug', 'env'],
  'cache gc': ['cache clean', 'cache clear', 'cache prune', 'cache rm', 'cache delete'],
  'cache ls': ['cache list'],
  'store gc': ['store clean', 'store clear', 'store prune', 'store rm', 'store delete'],
  'store ls': ['store list'],
  'experiment init': ['experiment new', 'experiment create'],
  'train init': ['train new', 'train create', 'train run', 'finetune', 'fine-tune'],
  'recipe export': ['to-mergekit'],
  '--version': ['version', 'ver', '/v'],
  '--help': ['/?', '/h', 'man', 'usage'],
};

export const plainWord = (word: string): string => word.toLowerCase().replace(/[_-]/g, '');

export const otherCommands: ReadonlyMap<string, string> = new Map(
  Object.entries(meant).flatMap(([command, words]) => words.map((word) => [plainWord(word), command])),
);

/**
 * Returns advice for a word that is not a command, if there is any. Reads the names of methods from the
 * schema, because importing the methods takes longer.
 */
export const inPlaceOf = (word: string): string | undefined => {
  const methods = ['dare', ...methodsInSchema()].map(plainWord);
  if (methods.includes(plainWord(word)))
    return 'it is a method: name it in a recipe, and run that with merge';
  return ['download', 'pull', 'fetch', 'get'].includes(word)
    ? 'commands fetch the models that they need, with --download'
    : undefined;
};
