import { argument, command } from '../framework/command.js';

export const doctor = command({
  name: 'doctor',
  group: 'installation',
  summary: 'check that merging works here: addon, processor, memory, file system, hub cache, lm_eval',
  arguments: {
    directory: argument(
      '[dir]',
      'the directory that merges would be written to (default: the working directory)',
    ),
  },
  examples: [
    ['layerloom doctor', 'check the installation and this directory'],
    ['layerloom doctor /scratch --json', 'check another disk, for a program to read'],
  ],
  run: async (given) => (await import('../work/models/doctor.js')).doctorCommand(given),
});
