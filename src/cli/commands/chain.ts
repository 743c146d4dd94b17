import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { threads } from '../options/common.js';

export const chain = command({
  name: 'chain',
  group: 'looking',
  summary: 'show what a model was made from, following statements back to the experts',
  arguments: { out: argument('<out>', 'a merge, an exported folder or a GGUF file, with statements') },
  options: {
    card: option('--card', 'print Markdown without paths, for the model card'),
    threads,
  },
  examples: [
    ['layerloom chain ./merged', 'the experts of a merge, also through merges of merges'],
    ['layerloom chain ./merged-gguf-q4_k_m --json', 'from a GGUF file, for scripts'],
    [
      'layerloom chain ./merged --card >> ./merged/README.md',
      'append the chain to the card; sign the merge only then',
    ],
  ],
  run: async (given) => (await import('../work/models/chain.js')).chainCommand(given),
});
