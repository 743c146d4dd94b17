import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { download, threads } from '../options/common.js';
import { numberOption } from '../options/usual-options.js';

export const verify = command({
  name: 'verify',
  group: 'looking',
  summary: 'check that an output is unchanged, or that it is the result of its recipe',
  arguments: { out: argument('<out>', 'a directory that a merge wrote; with --against, any model') },
  options: {
    againstInputs: option('--against-inputs', 'recompute the weights from the inputs, and compare'),
    against: option(
      '--against <recipe>',
      'compare tensors with the result of a recipe, a card, BASE+ADAPTER or a model; for merges by any program',
    ),
    sample: numberOption('--sample <share>', 'compare only this share of the tiles: 0.05'),
    seed: numberOption('--seed <n>', 'number that decides which tiles a sample has; random by default'),
    loads: option(
      '--loads',
      'ask transformers (for an adapter, PEFT) whether the output loads; reads no weights',
    ),
    key: option('--key <file>', "check the folder's signature with a public key in PEM"),
    identity: option(
      '--identity <name>',
      'check that this identity signed the folder: an e-mail address, or the URL of a workflow',
    ),
    issuer: option('--issuer <url>', 'URL of the issuer (OIDC) of --identity'),
    python: option('--python <path>', 'the Python for --loads; by default that of lm_eval, else python3'),
    download: download(),
    threads,
  },
  examples: [
    ['layerloom verify ./merged', 'compare its files with what layerloom.json records'],
    ['layerloom verify ./merged --against-inputs', 'recompute every weight and compare'],
    ['layerloom verify ./merged --against-inputs --sample 0.05', 'a twentieth of the weights'],
    [
      'layerloom verify ./merged --key ./public.pem',
      'check that the owner of this key signed exactly these files',
    ],
    [
      'layerloom verify ./merged --identity me@example.org --issuer https://accounts.google.com',
      'check that this identity signed exactly these files',
    ],
    [
      'layerloom verify ./theirs --against ./mergekit_config.yml',
      'is it the result of the recipe? if not, what went wrong?',
    ],
    ['layerloom verify ./merged --loads', 'ask transformers whether any tensor is missing or superfluous'],
  ],
  run: async (given) => (await import('../work/models/verify.js')).verifyCommand(given),
});
