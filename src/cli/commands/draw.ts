import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';

const group = optionGroups.output;

export const draw = command({
  name: 'draw',
  group: 'experiments',
  summary: 'draw pictures of a study for a paper: SVG with the numbers as CSV',
  arguments: { directory: argument('<dir>', 'the directory of an experiment that was evaluated') },
  options: {
    out: option('-o, --out <dir>', 'the directory for the files', { required: true, group }),
    force: option('--force', 'replace files', { group }),
  },
  examples: [
    [
      'layerloom draw ./study -o ./figures',
      'layers, gains, curves, grids; changes and overlaps of an analysis',
    ],
    ['layerloom draw ./study -o ./figures --force', 'again, after further scores'],
  ],
  run: async (given) => (await import('../work/studies/draw.js')).drawCommand(given),
});
