import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';

const group = optionGroups.output;

export const draw = command({
  name: 'draw',
  group: 'experiments',
  summary: 'draw pictures of a study for a paper: SVG with the numbers as CSV',
  arguments: { directory: argument('<dir>', 'the directory of an evaluated experiment') },
  options: {
    out: option('-o, --out <dir>', 'the directory for the files', { required: true, group }),
    force: option('--force', 'replace files', { group }),
  },
  examples: [
    [
      'layerloom draw ./study -o ./figures',
      'layers, gains, curves, grids; from an analysis, changes and overlaps',
    ],
    ['layerloom draw ./study -o ./figures --force', 'draw again, after more scores'],
  ],
  run: async (given) => (await import('../work/studies/draw.js')).drawCommand(given),
});
