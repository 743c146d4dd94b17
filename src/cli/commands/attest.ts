import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { threads } from '../options/common.js';

export const attest = command({
  name: 'attest',
  group: 'looking',
  summary: 'write a statement of how an output was made, and sign it',
  arguments: {
    out: argument('<out>', 'a directory that a merge wrote; with --key or --keyless, any folder'),
  },
  options: {
    key: option('--key <file>', 'sign all files with a private key in PEM (EC P-256 or Ed25519)'),
    keyless: option(
      '--keyless',
      "sign all files with the identity of this CI job, or of the token in SIGSTORE_ID_TOKEN, in Sigstore's public log",
    ),
    bom: option(
      '--bom <file>',
      'also write a bill of materials (CycloneDX 1.7) with the inputs as ancestors',
    ),
    threads,
  },
  examples: [
    ['layerloom attest ./merged', 'write layerloom.intoto.jsonl: weights, recipe and inputs'],
    ['layerloom attest ./merged --key ./private.pem', 'also sign the folder, into model.sig'],
    [
      'layerloom attest ./merged --keyless',
      'sign with an identity instead of a key (needs the package sigstore)',
    ],
    ['layerloom attest ./merged --bom ./merged.cdx.json', 'also list files and inputs as CycloneDX'],
  ],
  run: async (given) => (await import('../work/models/attest.js')).attestCommand(given),
});
