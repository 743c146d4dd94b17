import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { download, threads } from '../options/common.js';
import { numberOption } from '../options/usual-options.js';

export const verify = command({
  name: 'verify',
  group: 'looking',
  summary: 'check that an output is as it was written, or as its inputs give it',
  arguments: { out: argument('<out>', 'a directory that a merge wrote; with --against any model') },
  options: {
    againstInputs: option('--against-inputs', 'compute the weights again from the inputs, and compare'),
    against: option(
      '--against <recipe>',
      "compare tensors with what a recipe, a card, BASE+ADAPTER or a model gives; anybody's merge",
    ),
    sample: numberOption('--sample <share>', 'only this share of the tiles, from the hub too: 0.05'),
    seed: numberOption('--seed <n>', 'which tiles a sample has; drawn where it is not given'),
    loads: option('--loads', 'ask transformers, and PEFT of an adapter, whether it loads; reads no weights'),
    key: option('--key <file>', "check the folder's signature by a public key in PEM"),
    identity: option(
      '--identity <name>',
      "check the folder's signature by an identity: an e-mail address, or the URL of a workflow",
    ),
    issuer: option('--issuer <url>', 'who vouches for the identity of --identity'),
    python: option('--python <path>', 'the Python that has them; default that of lm_eval, else python3'),
    download: download(),
    threads,
  },
  examples: [
    ['layerloom verify ./merged', 'compare its files with what layerloom.json records'],
    ['layerloom verify ./merged --against-inputs', 'compute every weight again and compare'],
    ['layerloom verify ./merged --against-inputs --sample 0.05', 'a twentieth of them'],
    [
      'layerloom verify ./merged --key ./public.pem',
      'the owner of this key signed these files, and no others',
    ],
    [
      'layerloom verify ./merged --identity me@example.org --issuer https://accounts.google.com',
      'this identity signed these files, and no others',
    ],
    [
      'layerloom verify ./theirs --against ./mergekit_config.yml',
      'is it what the recipe gives? if not, what went wrong',
    ],
    ['layerloom verify ./merged --loads', 'ask transformers whether each tensor is there, and no other'],
  ],
  run: async (given) => (await import('../work/models/verify.js')).verifyCommand(given),
});
